// Keys that work anywhere but inside a field. Pages bring theirs and take them away again.
import { signal } from '@preact/signals';

export interface Shortcut {
  keys: string; // "?", "g l": one after the other
  what: string;
  run: () => void;
}

export const shortcuts = signal<Shortcut[]>([]);

export function shortcut(keys: string, what: string, run: () => void): () => void {
  const mine = { keys, what, run };
  shortcuts.value = [...shortcuts.value, mine];
  return () => {
    shortcuts.value = shortcuts.value.filter((s) => s !== mine);
  };
}

let before = '';
let beforeAt = 0;

const writes = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

export function listenToKeys(): void {
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape' && writes(event.target)) return (event.target as HTMLElement).blur();
    if (writes(event.target) || document.querySelector('dialog[open]')) return;
    const now = performance.now();
    const two = before && now - beforeAt < 1200 ? `${before} ${event.key}` : '';
    const found = shortcuts.value.find((s) => s.keys === two) ?? shortcuts.value.find((s) => s.keys === event.key);
    before = event.key.length === 1 ? event.key : '';
    beforeAt = now;
    if (!found) return;
    event.preventDefault();
    before = '';
    found.run();
  });
}

// The rows of the list on the page: the next or the previous one is focused.
export function moveInList(step: number): void {
  const links = [...document.querySelectorAll<HTMLElement>('table.list tbody a')];
  if (links.length === 0) return;
  const at = links.indexOf(document.activeElement as HTMLElement);
  links[at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.max(0, Math.min(links.length - 1, at + step))]?.focus();
}
