/** A window narrower than this shows pictures small. */
const NARROW = 320;

/** Says of this device whether pictures can be shown, whether answers can be kept, and whether the window is large enough. */
export async function device(page: HTMLElement): Promise<void> {
  const report = (name: string, good: boolean) => {
    const row = page.querySelector<HTMLElement>(`[data-check="${name}"]`);
    if (row) row.hidden = good;
    return good;
  };
  report("checking", false);
  const size = () => report("small", innerWidth >= NARROW);
  const [shows] = await Promise.all([decodes(page.dataset["picture"] as string), keeps().then((good) => report("storage", good))]);
  size();
  addEventListener("resize", size);
  report("pictures", shows);
  report("checking", true);
  page.querySelectorAll<HTMLElement>("[data-ready]").forEach((ready) => (ready.hidden = !shows));
}

async function decodes(url: string): Promise<boolean> {
  try {
    const image = new Image();
    image.src = URL.createObjectURL(await (await fetch(url)).blob());
    await image.decode();
    return image.naturalWidth > 0;
  } catch {
    return false;
  }
}

function keeps(): Promise<boolean> {
  return new Promise((resolve) => {
    try {
      const asked = indexedDB.open("bayesteach-check");
      asked.onsuccess = () => {
        asked.result.close();
        indexedDB.deleteDatabase("bayesteach-check");
        resolve(true);
      };
      asked.onerror = () => resolve(false);
    } catch {
      resolve(false);
    }
  });
}
