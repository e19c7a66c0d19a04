import { device } from "./device";
import { experiment } from "./experiment";

const main = document.querySelector("main") as HTMLElement;
if (main.id === "experiment") void experiment(main, document.querySelector("#line") as HTMLElement);
if (main.id === "device") void device(main);
// A form that only waits to be sent: the page "saving…".
document.querySelector<HTMLFormElement>("form[data-send]")?.submit();
