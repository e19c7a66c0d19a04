type Made<K extends keyof HTMLElementTagNameMap> = HTMLElementTagNameMap[K];

/** An element with properties, `aria-…`, `role` and the like as attributes, and children; words in it are text, never HTML. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  properties: Record<string, string | number | boolean> = {},
  ...children: (Node | string)[]
): Made<K> {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) Object.assign(made, { [key]: value });
    else made.setAttribute(key, String(value));
  }
  made.append(...children);
  return made;
}

/** `{number} of {total}` with its words put in. */
export function filled(text: string, words: Record<string, number>): string {
  return text.replace(/\{(\w+)\}/g, (all, word: string) => String(words[word] ?? all));
}
