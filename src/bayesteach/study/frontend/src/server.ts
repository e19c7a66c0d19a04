// What the server says and is told: the other side of study/api.py and study/answering.py.

export type Phase = "practice" | "trials";

export interface Group {
  heading: string;
  images: string[];
  overlays: string[];
}

/** All that a trial shows; the left option and the left group come first. */
export interface Trial {
  index: number;
  options: [string, string];
  probe: string;
  overlay: string | null;
  groups: Group[];
}

export type Texts = Record<
  | "question"
  | "key_hint"
  | "progress"
  | "loading"
  | "break_title"
  | "break_text"
  | "continue"
  | "saving"
  | "offline"
  | "legend_title"
  | "legend_low"
  | "legend_high"
  | "probe_heading"
  | "overlay_heading"
  | "examples_heading"
  | "probe_alt"
  | "overlay_alt"
  | "example_alt"
  | "example_overlay_alt"
  | "elsewhere_title"
  | "elsewhere_text"
  | "elsewhere_button"
  | "trouble_title"
  | "trouble_text"
  | "trouble_button",
  string
>;

export interface Session {
  session: string;
  mode: "live" | "test" | "simulated" | "preview";
  phase: Phase;
  csrf: string;
  total: number;
  next: number;
  resumed: boolean;
  break_every: number;
  texts: Texts;
  legend: string | null;
  trials: Trial[];
}

/** What a person did in one trial, fixed when they did it; times in milliseconds. */
export interface Answer {
  phase: Phase;
  index: number;
  attempt: string;
  choice: 0 | 1;
  rt: number;
  by: "key" | "pointer";
  resumed: boolean;
  viewport: [number, number];
  pixel_ratio: number;
  load_ms: number;
  hidden_ms: number;
}

/** It may work a little later. */
export class Passing extends Error {}

/** It will not work by trying again. `next` is the trial at which the server is, where it says so. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly next: number | null,
  ) {
    super(`The server refused with ${status}.`);
  }
}

const PATIENCE = 20_000;

export async function session(url: string): Promise<Session> {
  return (await ask(url)).json() as Promise<Session>;
}

/** Gives an answer to the server, and returns the index of the next trial. */
export async function give(answer: Answer, csrf: string): Promise<number> {
  const headers = { "Content-Type": "application/json", "X-CSRF": csrf };
  const said = await ask("/api/answers", { method: "POST", headers, body: JSON.stringify(answer) });
  return ((await said.json()) as { next: number }).next;
}

export async function picture(url: string): Promise<Blob> {
  return (await ask(url)).blob();
}

async function ask(url: string, told: RequestInit = {}): Promise<Response> {
  let said: Response;
  try {
    said = await fetch(url, { ...told, signal: AbortSignal.timeout(PATIENCE) });
  } catch (error) {
    throw new Passing(String(error));
  }
  if (said.ok) return said;
  if (said.status >= 500 || said.status === 429 || said.status === 408) throw new Passing(`The server said ${said.status}.`);
  const body = (await said.json().catch(() => ({}))) as { next?: unknown };
  throw new Refused(said.status, typeof body.next === "number" ? body.next : null);
}
