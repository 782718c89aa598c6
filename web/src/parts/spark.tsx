// A line as high as a word.
export function Spark({ points, label }: { points: number[]; label: string }) {
  const width = 64;
  const height = 16;
  const top = Math.max(1, ...points);
  const step = points.length > 1 ? width / (points.length - 1) : width;
  const xy = points.map((p, i) => `${(i * step).toFixed(1)},${(height - 1 - (p / top) * (height - 2)).toFixed(1)}`);
  return (
    <svg class="spark" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label} preserveAspectRatio="none">
      {points.length > 1 && <polygon points={`0,${height} ${xy.join(' ')} ${width},${height}`} />}
      {points.length > 1 && <polyline points={xy.join(' ')} />}
    </svg>
  );
}

// For what is over: one bar, its mean.
export function Bar({ part, label }: { part: number; label: string }) {
  return (
    <svg class="spark" viewBox="0 0 64 16" role="img" aria-label={label} preserveAspectRatio="none">
      <rect class="rail" x="0" y="6" width="64" height="4" rx="2" />
      <rect x="0" y="6" width={Math.max(part > 0 ? 2 : 0, Math.min(1, part) * 64)} height="4" rx="2" />
    </svg>
  );
}
