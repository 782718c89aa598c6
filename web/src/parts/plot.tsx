// uPlot, with the colours of the page.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { isDark } from '../settings';

export interface Line {
  label: string;
  values: (number | null)[];
  colour?: 'accent' | 'warn' | 'bad' | 'dim';
  fill?: boolean;
  dash?: boolean;
}

const kHeight = 132;
const kSeconds = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600];
const kWhole = [1, 2, 5].flatMap((n) => Array.from({ length: 9 }, (_, i) => n * 10 ** i)).sort((a, b) => a - b);
// Ticks of bytes are round in bytes.
const kBinary = Array.from({ length: 44 }, (_, i) => 2 ** i);

export function Plot({
  label,
  x,
  lines,
  format,
  wallClock = false,
  top,
  binary = false,
  whole = false,
}: {
  label: string;
  x: number[]; // s
  lines: Line[];
  format: (value: number) => string;
  wallClock?: boolean;
  top?: number | undefined; // the scale reaches at least here
  binary?: boolean;
  whole?: boolean; // nothing between 1 and 2
}) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const data: uPlot.AlignedData = [x, ...lines.map((l) => l.values)];
  const latest = useRef({ format, top, lines });
  latest.current = { format, top, lines };
  const shape = lines.map((l) => `${l.label}${l.colour}`).join();

  useEffect(() => {
    const parent = box.current;
    if (!parent) return;
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
    const axis: uPlot.Axis = {
      stroke: colour('dim'),
      grid: { stroke: colour('line'), width: 1 },
      ticks: { show: false },
      font: '11px system-ui, sans-serif',
      gap: 4,
    };
    const say = (u: uPlot) => tell(u, parent, latest.current.lines, latest.current.format);
    const options: uPlot.Options = {
      width: parent.clientWidth || 300,
      height: kHeight,
      legend: { show: false },
      cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
      padding: [8, 8, 0, 0],
      scales: {
        x: { time: wallClock },
        y: { range: (_u, _min, max) => [0, Math.max(max || 0, latest.current.top ?? 0, 1e-9) * 1.08] },
      },
      axes: [
        {
          ...axis,
          size: 22,
          space: 60,
          ...(wallClock ? { incrs: kSeconds } : {}),
          values: wallClock
            ? (_u, ticks) => ticks.map((t) => new Date(t * 1000).toLocaleTimeString('en-GB'))
            : (_u, ticks) => ticks.map((t) => `${Number(t.toFixed(3))} s`),
        },
        {
          ...axis,
          size: 62,
          space: 30,
          ...(binary ? { incrs: kBinary } : whole ? { incrs: kWhole } : {}),
          values: (_u, ticks) => ticks.map((t) => latest.current.format(t)),
        },
      ],
      series: [
        {},
        ...lines.map((l): uPlot.Series => ({
          label: l.label,
          stroke: colour(l.colour ?? 'accent'),
          width: 1.5,
          points: { show: false },
          ...(l.fill ? { fill: colour('accent-soft') } : {}),
          ...(l.dash ? { dash: [5, 4] } : {}),
        })),
      ],
      hooks: { setCursor: [say], setData: [say], ready: [say] },
    };
    const made = new uPlot(options, data, parent);
    plot.current = made;
    const sized = new ResizeObserver(() => made.setSize({ width: parent.clientWidth, height: kHeight }));
    sized.observe(parent);
    return () => {
      sized.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [isDark.value, shape, wallClock]);

  useEffect(() => {
    plot.current?.setData(data);
  }, [x, lines]);
  return (
    <div class="plot">
      <div ref={box} role="img" aria-label={label} />
      <p class="plot-says" aria-hidden="true" />
    </div>
  );
}

// The values under the pointer, else the last ones; it is also what says which line is which.
function tell(u: uPlot, parent: HTMLElement, lines: Line[], format: (value: number) => string): void {
  const says = parent.nextElementSibling;
  if (!says) return;
  const i = u.cursor.idx ?? u.data[0].length - 1;
  says.replaceChildren(
    ...lines.map((l, n) => {
      const value = u.data[n + 1]?.[i];
      const span = document.createElement('span');
      span.className = `key-${l.colour ?? 'accent'}`;
      span.textContent = `${l.label} ${value === null || value === undefined ? '–' : format(value)}`;
      return span;
    }),
  );
}
