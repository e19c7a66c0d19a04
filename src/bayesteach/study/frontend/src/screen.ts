import { element, filled } from "./elements";
import type { Group, Texts, Trial } from "./server";

/** A trial on the page, its pictures not there yet. */
export interface Screen {
  whole: HTMLElement;
  heading: HTMLElement;
  buttons: [HTMLButtonElement, HTMLButtonElement];
  pictures: Pictured[];
}

interface Pictured {
  image: HTMLImageElement;
  url: string;
}

/** The addresses of all pictures of a trial, the probe first. */
export function picturesOf(trial: Trial, legend: string | null): string[] {
  const groups = trial.groups.flatMap((group) => [...group.images, ...group.overlays]);
  return [trial.probe, ...(trial.overlay ? [trial.overlay] : []), ...(colours(trial) && legend ? [legend] : []), ...groups];
}

export function screen(trial: Trial, texts: Texts, place: { number: number; total: number }, legend: string | null): Screen {
  const pictures: Pictured[] = [];
  const picture = (url: string, alt: string): HTMLImageElement => {
    const image = element("img", { alt, draggable: false });
    pictures.push({ image, url });
    return image;
  };
  const count = filled(texts.progress, place);
  const heading = element("h1", { id: "question", tabIndex: -1, "aria-describedby": "count" }, texts.question);
  const buttons: Screen["buttons"] = [option(trial.options[0], "F"), option(trial.options[1], "J")];
  const whole = element(
    "article",
    { className: "trial waiting", "aria-labelledby": "question", "aria-busy": "true" },
    element("p", { className: "loading" }, texts.loading),
    element(
      "header",
      {},
      element("progress", { max: place.total, value: place.number - 1, "aria-labelledby": "count" }),
      element("p", { id: "count" }, count),
    ),
    heading,
    probe(trial, texts, picture),
    ...(colours(trial) && legend ? [scale(texts, picture(legend, ""))] : []),
    element("div", { className: "options", role: "group", "aria-labelledby": "question" }, ...buttons),
    element("p", { className: "hint" }, texts.key_hint),
    ...(trial.groups.length > 0
      ? [element("div", { className: "lesson" }, ...trial.groups.map((group, side) => examples(group, side, texts, picture)))]
      : []),
  );
  if (trial.groups.length > 0) whole.classList.add("with-lesson");
  if (trial.groups.some((group) => group.overlays.length > 0)) whole.classList.add("with-lesson-maps");
  return { whole, heading, buttons, pictures };
}

function option(label: string, key: string): HTMLButtonElement {
  // What is said is the label alone; the key is told by the hint.
  return element(
    "button",
    { type: "button", className: "option", "aria-keyshortcuts": key },
    element("span", { dir: "auto" }, label),
    element("kbd", { "aria-hidden": "true" }, key),
  );
}

type Draw = (url: string, alt: string) => HTMLImageElement;

function probe(trial: Trial, texts: Texts, picture: Draw): HTMLElement {
  const plain = element("figure", {}, picture(trial.probe, texts.probe_alt));
  if (!trial.overlay) return element("div", { className: "probe" }, plain);
  plain.append(element("figcaption", {}, texts.probe_heading));
  const overlay = element("figure", {}, picture(trial.overlay, texts.overlay_alt), element("figcaption", {}, texts.overlay_heading));
  return element("div", { className: "probe with-map" }, plain, overlay);
}

function scale(texts: Texts, ramp: HTMLImageElement): HTMLElement {
  return element(
    "div",
    { className: "legend", role: "group", "aria-label": texts.legend_title },
    element("span", {}, texts.legend_low),
    ramp,
    element("span", {}, texts.legend_high),
  );
}

function examples(group: Group, side: number, texts: Texts, picture: Draw): HTMLElement {
  const id = `examples-${side}`;
  const rows = group.images.map((url, place) => {
    const words = { number: place + 1 };
    const overlay = group.overlays[place];
    const row = element("li", {}, picture(url, filled(texts.example_alt, words)));
    if (overlay) row.append(picture(overlay, filled(texts.example_overlay_alt, words)));
    return row;
  });
  return element(
    "section",
    { className: `examples ${side === 0 ? "left" : "right"}`, "aria-labelledby": id },
    element("h2", { id }, element("small", {}, `${texts.examples_heading} `), element("span", { dir: "auto" }, group.heading)),
    element("ul", { role: "list" }, ...rows),
  );
}

function colours(trial: Trial): boolean {
  return trial.overlay !== null || trial.groups.some((group) => group.overlays.length > 0);
}
