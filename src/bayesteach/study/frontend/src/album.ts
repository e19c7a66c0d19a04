import pLimit from "p-limit";

import { untilItWorks } from "./patience";

/** Pictures on their way at a time. */
const AT_ONCE = 4;

/** Pictures as they come, each fetched once and held in memory until it is let go: neither cache nor network stands in a trial's way. */
export class Album {
  private readonly limit = pLimit(AT_ONCE);
  private readonly pages = new Map<string, Promise<string>>();

  constructor(
    private readonly fetched: (url: string) => Promise<Blob>,
    private readonly online: (yes: boolean) => void,
  ) {}

  /** Where pictures can be had without a network; those asked for first come first. */
  get(urls: readonly string[]): Promise<string[]> {
    return Promise.all(urls.map((url) => this.page(url)));
  }

  /** Lets pictures go. */
  release(urls: readonly string[]): void {
    for (const url of urls) {
      void this.pages.get(url)?.then((local) => URL.revokeObjectURL(local));
      this.pages.delete(url);
    }
  }

  private page(url: string): Promise<string> {
    const known = this.pages.get(url);
    if (known) return known;
    const page = this.limit(() => untilItWorks(() => this.fetched(url), this.online)).then((blob) => URL.createObjectURL(blob));
    // Who asks for it hears of a failure; fetching ahead does not.
    page.catch(() => undefined);
    this.pages.set(url, page);
    return page;
  }
}
