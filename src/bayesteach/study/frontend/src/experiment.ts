import { initJsPsych } from "jspsych";
import { v4 as uuid } from "uuid";

import { Album } from "./album";
import { element } from "./elements";
import { Outbox } from "./outbox";
import { untilItWorks } from "./patience";
import { RestPlugin } from "./rest";
import { picturesOf } from "./screen";
import * as server from "./server";
import { type Given, WhichOfTwoPlugin } from "./which-of-two";

/** Blank between two trials, in milliseconds: the second half of a double click answers nothing. */
const GAP = 300;
/** Trials whose pictures are fetched ahead. */
const AHEAD = 8;

/** Takes a person through what is left of a phase, and goes on when the server has every row of it. */
export async function experiment(main: HTMLElement, line: HTMLElement): Promise<void> {
  try {
    await phase(main, line);
  } catch (error) {
    stop(main, error, null);
  }
}

async function phase(main: HTMLElement, line: HTMLElement): Promise<void> {
  const session = await untilItWorks(() => server.session(main.dataset["session"] as string), () => undefined);
  const { texts, trials, total } = session;
  const online = (yes: boolean) => say(line, yes ? "" : texts.offline);
  const outbox = await Outbox.open(session, {
    give: (answer) => server.give(answer, session.csrf),
    online,
    stopped: (why) => stop(main, why, texts),
  });
  await outbox.empty();
  const first = outbox.next;
  const album = new Album(server.picture, online);
  const ask = (asked: server.Trial, at: number) => ({
    type: WhichOfTwoPlugin,
    asked,
    texts,
    place: at + 1,
    total,
    legend: session.legend,
    pictures: async () => {
      for (const later of trials.slice(at, at + AHEAD)) void album.get(picturesOf(later, session.legend));
      const urls = picturesOf(asked, session.legend);
      const local = await album.get(urls);
      await outbox.room();
      return new Map(urls.map((url, place) => [url, local[place]]));
    },
    on_finish: async (given: Given) => {
      album.release(picturesOf(asked, null));
      await outbox.add(answer(session, asked, given, session.resumed && at === first));
    },
  });
  const rest = { type: RestPlugin, title: texts.break_title, text: texts.break_text, button: texts.continue };
  const timeline = trials
    .slice(first)
    .flatMap((trial, done) => [...(breaks(session, first + done, done) ? [rest] : []), ask(trial, first + done)]);
  const jsPsych = initJsPsych({
    display_element: main,
    default_iti: GAP,
    // jsPsych makes the whole experiment a stop of the Tab key; there is nothing to do there.
    on_trial_start: () => {
      main.tabIndex = -1;
    },
  });
  if (timeline.length > 0) {
    const simulated = simulation(session);
    await (simulated ? jsPsych.simulate(timeline, simulated) : jsPsych.run(timeline));
    say(line, texts.saving);
  }
  await outbox.empty();
  document.querySelector<HTMLFormElement>("form#onward")?.submit();
}

/** In test mode `/go?simulate=visual` lets jsPsych's simulated participant take the phase on screen, `data-only` without a screen. */
function simulation({ mode }: server.Session): "visual" | "data-only" | null {
  const asked = new URLSearchParams(location.search).get("simulate");
  return mode === "test" && (asked === "visual" || asked === "data-only") ? asked : null;
}

/** A break comes after so many trials of a phase, not at its start, nor where a person has just come back. */
function breaks({ break_every }: server.Session, at: number, done: number): boolean {
  return break_every > 0 && done > 0 && at % break_every === 0;
}

function answer(session: server.Session, asked: server.Trial, given: Given, resumed: boolean): server.Answer {
  const { choice, rt, by, load_ms, hidden_ms } = given;
  return {
    phase: session.phase,
    index: asked.index,
    attempt: uuid(),
    choice,
    rt,
    by,
    resumed,
    viewport: [innerWidth, innerHeight],
    pixel_ratio: devicePixelRatio,
    load_ms,
    hidden_ms,
  };
}

function say(line: HTMLElement, text: string): void {
  if (line.textContent !== text) line.textContent = text;
}

/** Ends this page's part: the study has gone on elsewhere, the server knows nobody here any more, or something is broken. */
function stop(main: HTMLElement, why: unknown, texts: server.Texts | null): void {
  const status = why instanceof server.Refused ? why.status : null;
  // No session, or one that is at no trial: the server has the page for that.
  if (status === 401 || (status === 409 && texts === null)) {
    location.replace("/go");
    return;
  }
  if (status !== 409) console.error(why);
  if (texts === null) {
    main.querySelector("#trouble")?.removeAttribute("hidden");
    return;
  }
  const [title, text, go] =
    status === 409
      ? [texts.elsewhere_title, texts.elsewhere_text, texts.elsewhere_button]
      : [texts.trouble_title, texts.trouble_text, texts.trouble_button];
  const heading = element("h1", { tabIndex: -1 }, title);
  const onward = element("a", { className: "button", href: "/go" }, go);
  // In the place of the old one, which jsPsych still holds and listens to.
  main.replaceWith(element("main", { className: "words" }, heading, element("p", {}, text), element("p", {}, onward)));
  heading.focus();
}
