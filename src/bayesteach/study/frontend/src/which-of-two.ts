import { type JsPsych, type JsPsychPlugin, ParameterType, type TrialType } from "jspsych";

import { type Screen, screen } from "./screen";
import type { Answer, Texts, Trial } from "./server";

const info = <const>{
  name: "which-of-two",
  version: "1.0.0",
  parameters: {
    /** The trial as the server gives it. */
    asked: { type: ParameterType.OBJECT, default: undefined },
    /** All words around it. */
    texts: { type: ParameterType.OBJECT, default: undefined },
    /** Which trial of how many, from 1. */
    place: { type: ParameterType.INT, default: undefined },
    total: { type: ParameterType.INT, default: undefined },
    /** The address of the scale of all maps. */
    legend: { type: ParameterType.STRING, default: null },
    /** Resolves with local addresses of pictures when they are here and an answer may be given. */
    pictures: { type: ParameterType.FUNCTION, default: undefined },
  },
  data: {
    /** 0 left, 1 right. */
    choice: { type: ParameterType.INT },
    /** From when all pictures were painted to the answer. */
    rt: { type: ParameterType.FLOAT },
    by: { type: ParameterType.STRING },
    /** From the trial's start to when all pictures were painted. */
    load_ms: { type: ParameterType.FLOAT },
    /** How long of `rt` the page was hidden. */
    hidden_ms: { type: ParameterType.FLOAT },
  },
};

type Info = typeof info;
export type Given = Pick<Answer, "choice" | "rt" | "by" | "load_ms" | "hidden_ms">;

/** One picture, two answers, and what the arm adds: which of the two did the AI choose? */
export class WhichOfTwoPlugin implements JsPsychPlugin<Info> {
  static readonly info = info;

  constructor(private readonly jsPsych: JsPsych) {}

  async trial(display: HTMLElement, trial: TrialType<Info>, on_load?: () => void): Promise<Given> {
    const { shown, load_ms } = await this.show(display, trial);
    on_load?.();
    const hidden = new Stopwatch();
    const { choice, by, at } = await answered(this.jsPsych.getDisplayContainerElement(), shown.buttons);
    const hidden_ms = hidden.stop();
    return { choice, rt: at - shown.since, by, load_ms, hidden_ms };
  }

  /** jsPsych's simulated participant: in mode "visual" it presses a key on the real screen. */
  async simulate(
    trial: TrialType<Info>,
    mode: "data-only" | "visual",
    options: { data?: Partial<Given> },
    on_load: () => void,
  ): Promise<Given> {
    const { pluginAPI, randomization } = this.jsPsych;
    const made: Given = {
      choice: randomization.sampleBernoulli(0.5) ? 1 : 0,
      rt: randomization.sampleExGaussian(600, 100, 1 / 300, true),
      by: "key",
      load_ms: 0,
      hidden_ms: 0,
    };
    const given: Given = pluginAPI.mergeSimulationData(made, options);
    if (mode === "data-only") {
      await trial.pictures();
      on_load();
      return given;
    }
    return this.trial(this.jsPsych.getDisplayElement(), trial, () => {
      on_load();
      pluginAPI.pressKey(KEYS[given.choice], given.rt);
    });
  }

  private async show(display: HTMLElement, trial: TrialType<Info>): Promise<{ shown: Screen & { since: number }; load_ms: number }> {
    const start = performance.now();
    const place = { number: trial.place, total: trial.total };
    const shown = screen(trial.asked as Trial, trial.texts as Texts, place, trial.legend ?? null);
    display.replaceChildren(shown.whole);
    const local: Map<string, string> = await trial.pictures();
    const decoded = shown.pictures.map(({ image, url }) => {
      image.src = local.get(url) ?? url;
      return image.decode();
    });
    await Promise.all(decoded);
    shown.whole.classList.remove("waiting");
    scrollTo(0, 0);
    const since = await painted();
    shown.whole.removeAttribute("aria-busy");
    shown.heading.focus({ preventScroll: true });
    return { shown: { ...shown, since }, load_ms: since - start };
  }
}

const KEYS = ["f", "j"] as const;

/** After the frame that draws what has changed: the second frame begins when the first is on screen. None comes while the page is hidden. */
function painted(): Promise<number> {
  return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now()))));
}

interface Press {
  choice: 0 | 1;
  by: "key" | "pointer";
  at: number;
}

/** The first press of a button, or of F or J anywhere in the experiment. */
function answered(container: HTMLElement, buttons: readonly [HTMLButtonElement, HTMLButtonElement]): Promise<Press> {
  return new Promise((resolve) => {
    const listening = new AbortController();
    const choose = (choice: 0 | 1, by: Press["by"], at: number) => {
      listening.abort();
      resolve({ choice, by, at });
    };
    const { signal } = listening;
    for (const choice of [0, 1] as const) {
      // A click without a pointer's press is Enter or Space on the button.
      buttons[choice].addEventListener("click", (event) => choose(choice, event.detail === 0 ? "key" : "pointer", event.timeStamp), { signal });
    }
    container.addEventListener(
      "keydown",
      (event) => {
        const choice = KEYS.indexOf(letter(event) as (typeof KEYS)[number]);
        if (choice >= 0) choose(choice as 0 | 1, "key", event.timeStamp);
      },
      { signal },
    );
  });
}

/** The Latin letter of a key; on a keyboard of another script, the one that stands at its place. Held keys and shortcuts are none. */
function letter(event: KeyboardEvent): string {
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return "";
  return /^[\x20-\x7e]$/.test(event.key) ? event.key.toLowerCase() : event.code.replace(/^Key/, "").toLowerCase();
}

/** How long the page has been hidden since it was made. */
class Stopwatch {
  private sum = 0;
  private since: number | null = null;
  private readonly listening = new AbortController();

  constructor() {
    document.addEventListener("visibilitychange", () => this.turn(), { signal: this.listening.signal });
    this.turn();
  }

  stop(): number {
    this.listening.abort();
    return this.sum + (this.since === null ? 0 : performance.now() - this.since);
  }

  private turn(): void {
    const now = performance.now();
    if (this.since !== null) this.sum += now - this.since;
    this.since = document.hidden ? now : null;
  }
}
