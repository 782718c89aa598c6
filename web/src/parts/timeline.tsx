// Where the time went: the whole life of an execution in one bar, then the set-up step by step.
import { ns, parse } from '../format';
import type { Execution, Result } from '../types';
import { Section } from './common';

export function Timeline({ e, result }: { e: Execution; result: Result | null }) {
  const created = parse(e.created)?.getTime();
  const started = parse(e.start_time)?.getTime();
  const steps = Object.entries(result?.setup_ns ?? {});
  // What does not compile has the times of its compiler, and nothing ran.
  const compileOnly = result?.exit_reason === 'compile_error';
  const compile = !compileOnly && result?.compile && !result.compile.cached ? result.compile.duration_ns : 0;
  const last = result?.duration ?? e.duration;
  const before = created && started ? Math.max(0, (started - created) * 1e6 - compile) : 0;
  const parts = [
    { name: 'queue and hand-over', ns: before, tone: 'queue' },
    { name: 'compile', ns: compile, tone: 'compile' },
    compileOnly ? { name: 'compile', ns: last, tone: 'compile' } : { name: 'run', ns: last, tone: 'run' },
  ].filter((p) => p.ns > 0);
  const whole = parts.reduce((sum, p) => sum + p.ns, 0);
  const longest = Math.max(1, ...steps.map(([, t]) => t));
  if (whole === 0 && steps.length === 0) return null;
  return (
    <Section title="Timeline" aside={<span class="dim">{ns(whole)} in all</span>}>
      <div class="phases" role="img" aria-label={parts.map((p) => `${p.name} ${ns(p.ns)}`).join(', ')}>
        {parts.map((p) => (
          <span key={p.name} class={p.tone} style={{ flexGrow: Math.max(p.ns / whole, 0.004) }} />
        ))}
      </div>
      <ul class="legend">
        {parts.map((p) => (
          <li key={p.name}>
            <i class={p.tone} aria-hidden="true" />
            {p.name} <b class="num">{ns(p.ns)}</b>
          </li>
        ))}
      </ul>
      {steps.length > 0 && (
        <details open={steps.length <= 30}>
          <summary>Set-up of the cell, {steps.length} steps</summary>
          <ol class="steps">
            {steps.map(([name, t]) => (
              <li key={name}>
                <code>{name}</code>
                <span class="track">
                  <i style={{ width: `${Math.max(0.5, (t / longest) * 100)}%` }} />
                </span>
                <span class="num">{ns(t)}</span>
              </li>
            ))}
          </ol>
          <p class="note">
            Steps inside the cell and steps of the launcher overlap, so they add up to more than the wait.
          </p>
        </details>
      )}
    </Section>
  );
}
