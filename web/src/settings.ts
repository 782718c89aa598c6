// What this browser remembers. Storage may be forbidden; everything works without.
import { signal } from '@preact/signals';

export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`hotcell.${name}`, value);
  } catch {
    // Then it is forgotten.
  }
}

export function recall(name: string): string | null {
  try {
    return localStorage.getItem(`hotcell.${name}`);
  } catch {
    return null;
  }
}

export type Theme = 'system' | 'light' | 'dark';
const known = (text: string | null): Theme => (text === 'light' || text === 'dark' ? text : 'system');

export const theme = signal<Theme>(known(recall('theme')));
const dark = matchMedia('(prefers-color-scheme: dark)');
// Plots are drawn with colours that they have read once; they look here when to read them again.
export const isDark = signal(false);

function apply(): void {
  if (theme.value === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme.value;
  isDark.value = theme.value === 'dark' || (theme.value === 'system' && dark.matches);
}
theme.subscribe(apply);
dark.addEventListener('change', apply);

// System, then the opposite of what the system has, then what it has, said aloud.
export function nextTheme(): void {
  const opposite: Theme = dark.matches ? 'light' : 'dark';
  const same: Theme = dark.matches ? 'dark' : 'light';
  theme.value = theme.value === 'system' ? opposite : theme.value === opposite ? same : 'system';
  remember('theme', theme.value);
}
