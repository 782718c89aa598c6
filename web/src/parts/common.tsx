// Small things that every page uses.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiError, words } from '../api';
import { tone } from '../format';
import type { Execution } from '../types';

export function Pill({
  tone: t,
  children,
  title,
}: {
  tone: string;
  children: ComponentChildren;
  title?: string | undefined;
}) {
  return (
    <span class={`pill ${t}`} title={title}>
      {children}
    </span>
  );
}

export function StatusPill({ e }: { e: Pick<Execution, 'status'> }) {
  return (
    <span class={`pill ${tone(e.status)}`}>
      <i class="dot" aria-hidden="true" />
      {e.status}
    </span>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <p>{children}</p>}
    </div>
  );
}

const kHelp: Record<number, string> = {
  0: 'This page tries again by itself when the daemon is back.',
  403: 'The key in use lacks the scope for this. “hotcell key create NAME --scope run,read” makes one that has it.',
  404: 'It may have been removed by the retention rules, or this daemon has never had it.',
  429: 'The queue is full for now. Try again in a moment.',
  503: 'The daemon is starting, draining or without its launcher. Try again in a moment.',
};

export function Failure({ error, retry }: { error: unknown; retry?: (() => void) | undefined }) {
  const status = error instanceof ApiError ? error.status : -1;
  return (
    <div class="failure" role="alert">
      <p>
        <b>{words(error)}</b>
      </p>
      {kHelp[status] && <p class="dim">{kHelp[status]}</p>}
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export const Loading = () => (
  <p class="loading" role="status">
    Loading…
  </p>
);

export function Section({
  title,
  id,
  aside,
  children,
}: {
  title: string;
  id?: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
}) {
  const name = id ?? title.toLowerCase().replace(/[^a-z]+/g, '-');
  return (
    <section class={`card s-${name}`} aria-labelledby={`h-${name}`}>
      <header class="card-head">
        <h2 id={`h-${name}`}>{title}</h2>
        {aside && <div class="aside">{aside}</div>}
      </header>
      {children}
    </section>
  );
}

export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [done, setDone] = useState('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone('Copied');
    } catch {
      setDone('Select it and copy by hand');
    }
    setTimeout(() => setDone(''), 1500);
  };
  return (
    <button type="button" class="small" onClick={copy} aria-live="polite">
      {done || label}
    </button>
  );
}

// Loads when `key` changes; what comes too late is dropped.
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, key: string) {
  const [state, setState] = useState<{ value?: T; error?: unknown }>({});
  const [round, setRound] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    load(abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setState({ value });
      },
      (error: unknown) => {
        if (!abort.signal.aborted) setState({ error });
      },
    );
    return () => abort.abort();
  }, [key, round]);
  return { ...state, reload: () => setRound((n) => n + 1) };
}

// The wall clock for what is told as "5 s ago".
export function useNow(every = 1000): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

export function Meter({ value, max, label }: { value: number; max: number; label: string }) {
  const part = Math.min(1, max > 0 ? value / max : 0);
  return (
    <div
      class={`meter ${part > 0.9 ? 'hot' : ''}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={max}
      aria-valuenow={value}
    >
      <span style={{ width: `${Math.max(part * 100, value > 0 ? 1 : 0)}%` }} />
    </div>
  );
}

// Rows that scroll sideways on a narrow screen can be reached by keyboard.
export function Scroll({
  label,
  children,
  ...rest
}: { label: string; children: ComponentChildren } & JSX.HTMLAttributes<HTMLDivElement>) {
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0} {...rest}>
      {children}
    </div>
  );
}
