import { device } from "./device";
import { experiment } from "./experiment";

const main = document.querySelector("main") as HTMLElement;
if (main.id === "experiment") void experiment(main, document.querySelector("#line") as HTMLElement);
if (main.id === "device") void device(main);
document.querySelector<HTMLFormElement>("form#saving")?.submit();
