import { type DBSchema, type IDBPDatabase, openDB } from "idb";

import { untilItWorks } from "./patience";
import { type Answer, Refused } from "./server";

interface Held extends Answer {
  session: string;
}

interface Shelf extends DBSchema {
  answers: { key: string; value: Held };
}

/** So many answers may wait for the network before the next trial waits for them. */
const MOST = 5;

export interface Post {
  /** Gives an answer to the server, and returns the index of the trial that it wants next. */
  give: (answer: Answer) => Promise<number>;
  online: (yes: boolean) => void;
  /** The server does not take them; no more is sent. */
  stopped: (why: unknown) => void;
}

/**
 * Answers that the server has not acknowledged yet, in order. They are kept in IndexedDB too, so that a page that crashed leaves them to
 * the next one; where a browser has no IndexedDB they live as long as the page.
 */
export class Outbox {
  private sending = false;
  private watchers: (() => void)[] = [];
  private readonly listening = new AbortController();

  private constructor(
    private readonly shelf: IDBPDatabase<Shelf> | null,
    private readonly session: string,
    private readonly waiting: Held[],
    /** The trial that the server wants next, as it last said. */
    public next: number,
    private readonly post: Post,
  ) {
    // A browser asks before it closes a page that still has some.
    const { signal } = this.listening;
    addEventListener("beforeunload", (event) => this.waiting.length > 0 && event.preventDefault(), { signal });
    void this.send();
  }

  /** With what an earlier page could not send of this phase. */
  static async open(of: { session: string; phase: string; next: number }, post: Post): Promise<Outbox> {
    const shelf = await openDB<Shelf>("bayesteach", 1, {
      upgrade: (db) => void db.createObjectStore("answers", { keyPath: "attempt" }),
    }).catch(() => null);
    const all = (await shelf?.getAll("answers")) ?? [];
    const found = all.filter((held) => held.session === of.session && held.phase === of.phase);
    const outbox = new Outbox(shelf, of.session, unbroken(found, of.next), of.next, post);
    await outbox.forget(found.filter((held) => held.index < of.next));
    return outbox;
  }

  /** Keeps an answer, and sends it as soon as it can be sent. */
  async add(answer: Answer): Promise<void> {
    const held = { ...answer, session: this.session };
    this.waiting.push(held);
    await this.shelf?.put("answers", held).catch(() => undefined);
    void this.send();
  }

  /** When there is room for another answer. */
  room(): Promise<void> {
    return this.until(() => this.waiting.length < MOST);
  }

  /** When the server has them all. */
  empty(): Promise<void> {
    return this.until(() => this.waiting.length === 0);
  }

  private async until(reached: () => boolean): Promise<void> {
    while (!reached()) await new Promise<void>((resolve) => this.watchers.push(resolve));
  }

  private async send(): Promise<void> {
    if (this.sending) return;
    this.sending = true;
    try {
      for (let first = this.waiting[0]; first; first = this.waiting[0]) {
        const { session: _, ...answer } = first;
        this.next = await untilItWorks(() => this.post.give(answer), this.post.online);
        await this.forget([first]);
        this.waiting.shift();
        for (const watcher of this.watchers.splice(0)) watcher();
      }
      this.sending = false;
    } catch (error) {
      // What another page has answered before is not ours to answer; anything else stays for the next page.
      if (error instanceof Refused && error.status === 409) await this.forget(this.waiting);
      this.listening.abort();
      this.post.stopped(error);
    }
  }

  private async forget(held: Held[]): Promise<void> {
    await Promise.all(held.map(({ attempt }) => this.shelf?.delete("answers", attempt))).catch(() => undefined);
  }
}

/** Those that follow each other from the trial that the server wants next. */
function unbroken(found: Held[], next: number): Held[] {
  const row = [];
  for (let held = at(next); held; held = at(next + row.length)) row.push(held);
  return row;

  function at(index: number): Held | undefined {
    return found.find((held) => held.index === index);
  }
}
