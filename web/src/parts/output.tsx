// What a program writes, as it comes. Appended to the document by hand: a program may write a hundred thousand lines,
// and comparing trees of them would take longer than running it. Only text nodes, never markup.
import { useEffect, useRef, useState } from 'preact/hooks';
import { call, words } from '../api';
import { bytes, count } from '../format';
import { Ansi } from '../text';

export type Stream = 'stdout' | 'stderr';
export type Piece = { stream: Stream; text: string };

// More than this is not shown: the newest part is, and the whole can be saved.
const kShown = 512 * 1024;

// Collects pieces; whoever shows them is told.
export class OutputLog {
  readonly pieces: Piece[] = [];
  private listener: ((piece: Piece | null) => void) | null = null;

  add(stream: Stream, text: string): void {
    if (text === '') return;
    const piece = { stream, text };
    this.pieces.push(piece);
    this.listener?.(piece);
  }
  clear(): void {
    this.pieces.length = 0;
    this.listener?.(null);
  }
  listen(listener: ((piece: Piece | null) => void) | null): void {
    this.listener = listener;
  }
}

type Show = 'both' | Stream;

export function Output({
  log,
  id,
  running,
  label = 'Output',
  note,
  idle,
}: {
  log: OutputLog;
  id?: string | undefined;
  running: boolean;
  label?: string;
  note?: string | undefined;
  idle?: string | undefined;
}) {
  const box = useRef<HTMLPreElement>(null);
  const [show, setShow] = useState<Show>('both');
  const [wrap, setWrap] = useState(true);
  const [amount, setAmount] = useState({ stdout: 0, stderr: 0, dropped: 0 });
  const [problem, setProblem] = useState('');

  useEffect(() => {
    const pre = box.current;
    if (!pre) return;
    let shown = 0;
    let frame = 0;
    let queue: Piece[] = [];
    let total = { stdout: 0, stderr: 0, dropped: 0 };
    let ansi = { stdout: new Ansi(), stderr: new Ansi() };
    pre.textContent = '';

    const flush = () => {
      frame = 0;
      const atEnd = pre.scrollHeight - pre.scrollTop - pre.clientHeight < 40;
      const fragment = document.createDocumentFragment();
      for (const piece of queue) {
        total[piece.stream] += piece.text.length;
        if (show !== 'both' && show !== piece.stream) continue;
        const text = piece.text.slice(-kShown);
        total.dropped += piece.text.length - text.length;
        for (const part of ansi[piece.stream].feed(text)) {
          const span = document.createElement('span');
          span.className = `${piece.stream} ${part.classes}`;
          span.textContent = part.text;
          fragment.append(span);
          shown += part.text.length;
        }
      }
      queue = [];
      pre.append(fragment);
      while (shown > kShown && pre.childNodes.length > 1) {
        const first = pre.firstChild!;
        const length = first.textContent?.length ?? 0;
        shown -= length;
        total.dropped += length;
        first.remove();
      }
      if (atEnd) pre.scrollTop = pre.scrollHeight;
      setAmount({ ...total });
    };
    const take = (piece: Piece | null) => {
      if (piece) queue.push(piece);
      else {
        queue = [];
        shown = 0;
        total = { stdout: 0, stderr: 0, dropped: 0 };
        ansi = { stdout: new Ansi(), stderr: new Ansi() };
        pre.textContent = '';
      }
      frame ||= requestAnimationFrame(flush);
    };
    queue.push(...log.pieces);
    flush();
    log.listen(take);
    return () => {
      log.listen(null);
      cancelAnimationFrame(frame);
    };
  }, [log, show]);

  const save = async (stream: Stream) => {
    try {
      const answer = await call(`/api/v1/executions/${encodeURIComponent(id ?? '')}/output?stream=${stream}`, {
        headers: { Accept: 'text/plain' },
      });
      const url = URL.createObjectURL(new Blob([await answer.arrayBuffer()], { type: 'application/octet-stream' }));
      const link = document.createElement('a');
      link.href = url;
      link.download = `${id}.${stream}.txt`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
      setProblem('');
    } catch (error) {
      setProblem(words(error));
    }
  };

  const nothing = amount.stdout + amount.stderr === 0;
  return (
    <section class="card output" aria-label={label}>
      <header class="card-head">
        <h2>{label}</h2>
        <div class="aside">
          <div class="segmented" role="group" aria-label="Stream">
            {(['both', 'stdout', 'stderr'] as const).map((s) => (
              <button type="button" key={s} aria-pressed={show === s} onClick={() => setShow(s)}>
                {s}
                {s !== 'both' && amount[s] > 0 && <span class="dim"> {count(amount[s])}</span>}
              </button>
            ))}
          </div>
          <button type="button" class="small" aria-pressed={wrap} onClick={() => setWrap(!wrap)}>
            Wrap
          </button>
          {id &&
            !running &&
            (['stdout', 'stderr'] as const).map(
              (s) =>
                amount[s] > 0 && (
                  <button type="button" class="small" key={s} onClick={() => save(s)}>
                    Save {s}
                  </button>
                ),
            )}
        </div>
      </header>
      {amount.dropped > 0 && (
        <p class="note">The oldest {bytes(amount.dropped)} are not shown. Saving the stream gives all of it.</p>
      )}
      <pre
        ref={box}
        class={`console ${wrap ? 'wrap' : ''}`}
        tabIndex={0}
        role="log"
        aria-label={`${label} of the program`}
        data-testid="output"
      />
      {nothing && <p class="note">{idle ?? (running ? 'Nothing written yet.' : 'It wrote nothing.')}</p>}
      {note && <p class="note">{note}</p>}
      {problem && (
        <p class="note bad-text" role="alert">
          {problem}
        </p>
      )}
    </section>
  );
}
