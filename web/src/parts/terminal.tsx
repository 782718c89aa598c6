// A terminal of a cell: xterm.js over a WebSocket. The shell goes on when the page does not.
import { useEffect, useRef, useState } from 'preact/hooks';
import { FitAddon } from '@xterm/addon-fit';
import { Terminal as XTerm } from '@xterm/xterm';
import { keyProtocols } from '../api';
import { cellPath } from '../cells';
import { isDark } from '../settings';

// xterm.js writes its rules into <style> elements, which the page's policy forbids; a constructed sheet is not inline.
function withoutStyleElements<T>(work: () => T): T {
  const create = document.createElement;
  const sheets = document;
  document.createElement = function (this: Document, name: string, options?: ElementCreationOptions): HTMLElement {
    if (name !== 'style') return create.call(this, name, options);
    const sheet = new CSSStyleSheet();
    const stand = create.call(this, 'span', options);
    stand.hidden = true;
    Object.defineProperty(stand, 'textContent', {
      get: () => '',
      set: (text: string) => sheet.replaceSync(text),
    });
    stand.remove = () => {
      sheets.adoptedStyleSheets = sheets.adoptedStyleSheets.filter((s) => s !== sheet);
      Element.prototype.remove.call(stand);
    };
    sheets.adoptedStyleSheets = [...sheets.adoptedStyleSheets, sheet];
    return stand;
  } as typeof document.createElement;
  try {
    return work();
  } finally {
    document.createElement = create;
  }
}

function themeOf() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    background: colour('console'),
    foreground: colour('text'),
    cursor: colour('accent'),
    cursorAccent: colour('console'),
    selectionBackground: isDark.value ? '#2dc7b555' : '#0f766e44',
    ...(isDark.value
      ? {}
      : { white: '#56616b', brightWhite: '#1b2126', yellow: '#96590a', brightYellow: '#96590a', green: '#147047', brightGreen: '#147047', cyan: '#0b62a8', brightCyan: '#0b62a8' }),
  };
}

type State = 'connecting' | 'open' | 'closed';

export function Terminal({ cell, shell }: { cell: string; shell: string }) {
  const box = useRef<HTMLDivElement>(null);
  const made = useRef<XTerm | null>(null);
  const [state, setState] = useState<State>('connecting');
  const [why, setWhy] = useState('');
  const [round, setRound] = useState(0);

  useEffect(() => {
    const parent = box.current;
    if (!parent) return;
    const term = new XTerm({
      fontFamily: 'ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace',
      fontSize: 13,
      scrollback: 5000,
      cursorBlink: false,
      screenReaderMode: true,
      theme: themeOf(),
    });
    const fit = new FitAddon();
    term.loadAddon(fit);
    withoutStyleElements(() => term.open(parent));
    fit.fit();
    made.current = term;
    setState('connecting');
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    const at = `${scheme}://${location.host}${cellPath(cell, `/shells/${encodeURIComponent(shell)}/attach`)}?rows=${term.rows}&columns=${term.cols}`;
    const socket = new WebSocket(at, ['hotcell-terminal', ...keyProtocols()]);
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => {
      setState('open');
      term.focus();
    };
    socket.onmessage = (m) => term.write(new Uint8Array(m.data as ArrayBuffer));
    socket.onclose = (e) => {
      setState('closed');
      setWhy(e.reason || (e.code === 1006 ? 'The connection was lost, or refused.' : ''));
    };
    const encode = new TextEncoder();
    const say = (text: string) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(encode.encode(text));
    };
    const typed = term.onData(say);
    const bytes = term.onBinary((text) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(Uint8Array.from(text, (c) => c.charCodeAt(0)));
    });
    const sized = term.onResize(({ rows, cols }) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ resize: [rows, cols] }));
    });
    // Tab belongs to the shell: who came by keyboard needs another way out.
    term.attachCustomKeyEventHandler((e) => {
      if (e.type === 'keydown' && e.key === 'Escape' && e.shiftKey) {
        document.getElementById('terminal-leave')?.focus();
        return false;
      }
      return true;
    });
    const watch = new ResizeObserver(() => fit.fit());
    watch.observe(parent);
    return () => {
      watch.disconnect();
      for (const d of [typed, bytes, sized]) d.dispose();
      socket.onclose = null;
      socket.close(1000);
      term.dispose();
      made.current = null;
    };
  }, [cell, shell, round]);
  useEffect(() => {
    if (made.current) made.current.options.theme = themeOf();
  }, [isDark.value]);

  return (
    <div class="terminal" data-state={state} data-testid="terminal">
      <div class="terminal-box" ref={box} aria-label={`Terminal of shell ${shell}`} />
      <p class="terminal-foot dim" role="status">
        <span>
          {state === 'connecting' && 'Connecting…'}
          {state === 'open' && 'Connected. The shell goes on when you leave. Shift+Esc leaves the terminal.'}
          {state === 'closed' && `Closed. ${why}`}
        </span>
        <button type="button" class="small" id="terminal-leave" onClick={() => setRound(round + 1)}>
          Reconnect
        </button>
      </p>
    </div>
  );
}
