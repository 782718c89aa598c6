// A source with what the verifier (or a compiler) said of it, each under its line.
import { plural } from '../format';
import type { Finding } from '../types';
import { visible } from '../text';
import { Pill } from './common';

const kLines = 3000;

export const severityTone = (severity: string): string =>
  severity === 'error' ? 'bad' : severity === 'warning' ? 'warn' : 'dull';

export function FindingNote({ f, place }: { f: Finding; place?: boolean }) {
  return (
    <div class={`finding ${severityTone(f.severity)}`}>
      <Pill tone={severityTone(f.severity)}>{f.severity}</Pill>
      <div>
        <p>
          <b>{visible(f.message)}</b>
        </p>
        {place && f.snippet && (
          <p>
            <code>{visible(f.snippet)}</code>
          </p>
        )}
        {f.fix && <p class="dim">Instead: {visible(f.fix)}</p>}
        <p class="faint">
          {place && f.line > 0 && `${f.file}:${f.line}:${f.column} · `}
          {f.rule}
          {f.type && ` · ${f.type}`}
        </p>
      </div>
    </div>
  );
}

export function Source({ code, findings, name }: { code: string; findings: Finding[]; name: string }) {
  const lines = code.replace(/\n$/, '').split('\n');
  const here = new Map<number, Finding[]>();
  const elsewhere: Finding[] = [];
  for (const f of findings) {
    if (f.line < 1 || f.line > Math.min(lines.length, kLines)) elsewhere.push(f);
    else here.set(f.line, [...(here.get(f.line) ?? []), f]);
  }
  return (
    <>
      {elsewhere.map((f, i) => (
        <FindingNote key={i} f={f} place />
      ))}
      <div class="source" role="region" aria-label={`Source ${name}`} tabIndex={0}>
        {lines.slice(0, kLines).map((line, i) => {
          const notes = here.get(i + 1);
          const worst = notes?.some((f) => f.severity === 'error') ? 'bad' : notes ? 'warn' : '';
          return (
            <div key={i} id={`L${i + 1}`} class={notes ? `line marked ${worst}` : 'line'}>
              <span class="number" aria-hidden={!notes}>
                {i + 1}
              </span>
              <code>{visible(line) || ' '}</code>
              {notes && (
                <div class="notes">
                  {notes.map((f, n) => (
                    <FindingNote key={n} f={f} />
                  ))}
                </div>
              )}
            </div>
          );
        })}
      </div>
      {lines.length > kLines && (
        <p class="note">
          The first {kLines} of {lines.length} lines.
        </p>
      )}
    </>
  );
}

export function countFindings(findings: Finding[]): string {
  const errors = findings.filter((f) => f.severity === 'error').length;
  const warnings = findings.filter((f) => f.severity === 'warning').length;
  const rest = findings.length - errors - warnings;
  return (
    [errors && plural(errors, 'error'), warnings && plural(warnings, 'warning'), rest && plural(rest, 'remark')]
      .filter(Boolean)
      .join(', ') || 'nothing found'
  );
}
