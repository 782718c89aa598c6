// A field for code: numbered lines, marks of findings, and a Tab key that indents.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { severityTone } from './source';
import type { Finding } from '../types';

// The innermost indentation that the text itself uses, else two spaces (four for Python, a tab for Go).
const indentOf = (language: string): string =>
  language === 'go' ? '\t' : language === 'python' || language === 'rust' ? '    ' : '  ';

export function Editor({
  code,
  language,
  findings,
  change,
  submit,
}: {
  code: string;
  language: string;
  findings: Finding[];
  change: (code: string) => void;
  submit: () => void;
}) {
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const [tabLeaves, setTabLeaves] = useState(false);
  const lines = code.split('\n').length;
  const marks = new Map(
    findings
      .filter((f) => f.line > 0)
      .map((f) => [f.line, f.severity] as const)
      .reverse(),
  );
  for (const f of findings) if (f.severity === 'error') marks.set(f.line, 'error');

  const align = () => {
    if (gutter.current && area.current) gutter.current.scrollTop = area.current.scrollTop;
  };
  useLayoutEffect(align);

  // execCommand keeps the undo history of the field; setRangeText would break it.
  const insert = (text: string) => {
    if (!document.execCommand('insertText', false, text)) {
      const a = area.current!;
      a.setRangeText(text, a.selectionStart, a.selectionEnd, 'end');
      change(a.value);
    }
  };

  const key = (event: KeyboardEvent) => {
    const a = area.current;
    if (!a) return;
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      return submit();
    }
    if (event.key === 'Escape') {
      event.stopPropagation();
      return setTabLeaves(true);
    }
    if (event.key === 'Tab' && !tabLeaves && !event.ctrlKey && !event.altKey) {
      event.preventDefault();
      return tab(a, event.shiftKey);
    }
    if (event.key !== 'Tab' && event.key !== 'Shift') setTabLeaves(false);
    if (event.key === 'Enter' && !event.shiftKey) {
      const line = a.value.slice(a.value.lastIndexOf('\n', a.selectionStart - 1) + 1, a.selectionStart);
      const indent = /^[ \t]*/.exec(line)?.[0] ?? '';
      const deeper = /[:{([]\s*$/.test(line) ? indentOf(language) : '';
      if (indent + deeper === '') return;
      event.preventDefault();
      insert(`\n${indent}${deeper}`);
    }
  };

  const tab = (a: HTMLTextAreaElement, back: boolean) => {
    const unit = indentOf(language);
    const start = a.value.lastIndexOf('\n', a.selectionStart - 1) + 1;
    if (!back && a.selectionStart === a.selectionEnd) return insert(unit);
    const end = a.selectionEnd;
    const block = a.value.slice(start, end);
    const changed = back
      ? block.replace(new RegExp(`^(\t|${' '.repeat(unit === '\t' ? 4 : unit.length)}| +)`, 'gm'), '')
      : block.replace(/^(?=.)/gm, unit);
    a.setSelectionRange(start, end);
    insert(changed);
    if (block.includes('\n')) a.setSelectionRange(start, start + changed.length);
  };

  return (
    <div class="editor">
      <div class="gutter" ref={gutter} aria-hidden="true">
        {Array.from({ length: lines }, (_, i) => (
          <span key={i} class={marks.has(i + 1) ? `mark ${severityTone(marks.get(i + 1)!)}` : ''}>
            {i + 1}
          </span>
        ))}
      </div>
      <textarea
        ref={area}
        id="code"
        value={code}
        spellcheck={false}
        autocapitalize="off"
        autocomplete="off"
        wrap="off"
        aria-label="Code"
        aria-describedby="editor-help"
        onInput={(e) => change(e.currentTarget.value)}
        onKeyDown={key}
        onScroll={align}
        onBlur={() => setTabLeaves(false)}
      />
      <p class="editor-help faint" id="editor-help">
        {tabLeaves ? 'Tab leaves the field now.' : 'Tab indents; Esc, then Tab leaves. Ctrl+Enter runs.'}
      </p>
    </div>
  );
}

export function goToLine(line: number): void {
  const area = document.getElementById('code');
  if (!(area instanceof HTMLTextAreaElement)) return;
  const lines = area.value.split('\n');
  const start = lines.slice(0, line - 1).reduce((sum, l) => sum + l.length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  const height = parseFloat(getComputedStyle(area).lineHeight) || 20;
  area.scrollTop = Math.max(0, (line - 4) * height);
}
