import { type JsPsych, type JsPsychPlugin, ParameterType, type TrialType } from "jspsych";

import { element } from "./elements";

const info = <const>{
  name: "rest",
  version: "1.0.0",
  parameters: {
    title: { type: ParameterType.STRING, default: undefined },
    text: { type: ParameterType.STRING, default: undefined },
    button: { type: ParameterType.STRING, default: undefined },
  },
  data: {},
};

type Info = typeof info;

/** A break, as long as the person likes. */
export class RestPlugin implements JsPsychPlugin<Info> {
  static readonly info = info;

  constructor(private readonly jsPsych: JsPsych) {}

  trial(display: HTMLElement, trial: TrialType<Info>): void {
    const button = element("button", { type: "button", className: "button", "aria-describedby": "rest-text" }, trial.button);
    display.replaceChildren(
      element("article", { className: "words" }, element("h1", {}, trial.title), element("p", { id: "rest-text" }, trial.text), button),
    );
    button.focus();
    button.addEventListener("click", () => this.jsPsych.finishTrial({}));
  }

  simulate(trial: TrialType<Info>, mode: "data-only" | "visual", _options: unknown, on_load: () => void): void {
    if (mode === "data-only") {
      on_load();
      this.jsPsych.finishTrial({});
      return;
    }
    const display = this.jsPsych.getDisplayElement();
    this.trial(display, trial);
    on_load();
    this.jsPsych.pluginAPI.clickTarget(display.querySelector("button") as Element, 400);
  }
}
