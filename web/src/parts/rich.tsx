// Figures and tables that a program made. Hostile until proven otherwise: pictures are pictures (an svg inside <img>
// runs no script and loads nothing), html is cut down to tables and text and shown in a frame that may do nothing at all.
import { useMemo } from 'preact/hooks';
import { isDark } from '../settings';
import { visible } from '../text';
import type { RichOutput } from '../types';
import { Section } from './common';

const kKept = new Set(
  (
    'a abbr b blockquote br caption code col colgroup dd del div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i img ' +
    'ins kbd li mark ol p pre q s samp section small span strong sub sup table tbody td tfoot th thead tr u ul var'
  ).split(' '),
);
const kDropped =
  /<(script|style|iframe|object|svg|math|template|noscript|title|textarea)\b[\s\S]*?(<\/\1\s*>|$)|<!--[\s\S]*?(-->|$)/gi;
const kTag = /<(\/?)([a-z][a-z0-9]*)((?:"[^"]*"|'[^']*'|[^"'>])*)>/gi;
const kAttribute = /([a-z-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/gi;
const kLines = ' border="1" rules="all" bordercolor="gray" cellpadding="4"';
const kPicture = /^data:image\/(png|jpeg|gif|webp|svg\+xml)[;,]/i;

// Tables, text and pictures, written anew. The frame below is the wall, not this: it spares the reader what the wall
// would have stopped, and without a parser of the browser's, which tries (and reports) scripts and styles on the way.
function tidy(html: string): string {
  let out = '';
  let from = 0;
  const text = html.replace(kDropped, '');
  for (const tag of text.matchAll(kTag)) {
    out += text.slice(from, tag.index).replace(/</g, '&lt;');
    from = tag.index + tag[0].length;
    const name = (tag[2] ?? '').toLowerCase();
    if (!kKept.has(name)) continue;
    out += tag[1] ? `</${name}>` : `<${name}${attributes(name, tag[3] ?? '')}${name === 'table' ? kLines : ''}>`;
  }
  return out + text.slice(from).replace(/</g, '&lt;');
}

function attributes(tag: string, text: string): string {
  let out = '';
  for (const [, name = '', ...values] of text.matchAll(kAttribute)) {
    const value = values.find((v) => v !== undefined) ?? '';
    const key = name.toLowerCase();
    const picture = key === 'src' && tag === 'img' && kPicture.test(value);
    if (picture || ['colspan', 'rowspan', 'scope', 'alt', 'title'].includes(key))
      out += ` ${key}="${value.replace(/"/g, '&quot;').replace(/</g, '&lt;')}"`;
  }
  return out;
}

function Html({ text, name }: { text: string; name: string }) {
  // The frame belongs to nobody, so it may load nothing of ours, not even a style; what is old enough needs none.
  const document = useMemo(() => {
    const head = `<head><meta charset="utf-8"><meta name="color-scheme" content="${isDark.value ? 'dark' : 'light'}"></head>`;
    return `<!doctype html><html>${head}<body><font face="system-ui, sans-serif" size="2">${tidy(text)}</font></body></html>`;
  }, [text, isDark.value]);
  // Nobody can ask a frame without scripts how high it is.
  const height = Math.min(420, 48 + 30 * (text.match(/<(tr|p|br|li|h[1-6]|div)\b/gi)?.length ?? 1));
  return (
    <iframe
      class="rich-frame"
      sandbox=""
      referrerpolicy="no-referrer"
      srcdoc={document}
      title={name}
      style={{ height }}
    />
  );
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function One({ output: o }: { output: RichOutput }) {
  if (o.type === 'png') return <img src={`data:image/png;base64,${o.bytes ?? ''}`} alt={o.name} />;
  if (o.type === 'svg')
    return <img src={`data:image/svg+xml;charset=utf-8,${encodeURIComponent(o.text ?? '')}`} alt={o.name} />;
  if (o.type === 'html') return <Html text={o.text ?? ''} name={o.name} />;
  return (
    <pre class="console wrap" tabIndex={0}>
      {visible(o.type === 'json' ? pretty(o.text ?? '') : (o.text ?? ''))}
    </pre>
  );
}

export function RichOutputs({ outputs }: { outputs: RichOutput[] }) {
  return (
    <>
      {outputs.map((o, i) => (
        <figure class="rich" key={i}>
          <figcaption>
            <code>{visible(o.name)}</code> <span class="faint">{o.type}</span>
          </figcaption>
          <One output={o} />
        </figure>
      ))}
    </>
  );
}

export function Rich({ outputs }: { outputs: RichOutput[] }) {
  return (
    <Section title="Rich output">
      <RichOutputs outputs={outputs} />
    </Section>
  );
}
