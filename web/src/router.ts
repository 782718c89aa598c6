// Pages live behind the hash, so that the server has one document to serve: #/executions/ID?stream=stderr
import { computed, signal } from '@preact/signals';

const hash = signal(location.hash);
addEventListener('hashchange', () => {
  hash.value = location.hash;
});

export const route = computed(() => {
  const [path = '', query = ''] = hash.value.replace(/^#\/?/, '').split('?');
  return { parts: path.split('/').filter(Boolean).map(decode), query: new URLSearchParams(query) };
});

// A hash somebody typed may hold what is no encoding at all.
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function go(path: string): void {
  location.hash = path;
}

// The same page with other words behind the question mark; not worth a step of the back button.
export function setQuery(values: Record<string, string>): void {
  const path = location.hash.split('?')[0] || '#/';
  const query = new URLSearchParams(Object.entries(values).filter(([, v]) => v !== '')).toString();
  history.replaceState(null, '', query ? `${path}?${query}` : path);
  hash.value = location.hash;
}

export const executionPath = (id: string): string => `#/executions/${encodeURIComponent(id)}`;
