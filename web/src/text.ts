// Text that programs wrote. It is never markup: whoever shows it uses text nodes. What is done here is against text
// that deceives the eye: control characters, and the marks that turn the direction of writing around.

const kHidden = new RegExp(
  '[\\u0000-\\u0008\\u000B\\u000C\\u000E-\\u001F\\u007F-\\u009F\\u00AD\\u061C\\u200B-\\u200F\\u202A-\\u202E' +
    '\\u2060-\\u2064\\u2066-\\u206F\\uFEFF\\uFFF9-\\uFFFB]',
  'g',
);

export const visible = (text: string): string =>
  text.replace(kHidden, (c) => {
    const code = c.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });

export interface Styled {
  text: string;
  classes: string; // of style.css
}

const kColours = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];
// The start of an escape sequence whose end has not come yet; more than this is no sequence.
const kLongestSequence = 256;

// Colours of a terminal, and nothing else of it: cursor movements, titles, links and clipboards are dropped. Keeps its
// state between chunks.
export class Ansi {
  private rest = '';
  private bold = false;
  private faint = false;
  private underline = false;
  private colour = '';

  feed(chunk: string): Styled[] {
    const out: Styled[] = [];
    let text = this.rest + chunk;
    this.rest = '';
    // \r\n is a line end; a lone \r means "over this line again", for which a new line is honest enough.
    if (text.endsWith('\r')) {
      this.rest = '\r';
      text = text.slice(0, -1);
    }
    text = text.replace(/\r\n?/g, '\n');
    let from = 0;
    for (;;) {
      const at = text.indexOf('\x1b', from);
      if (at < 0) break;
      this.put(out, text.slice(from, at));
      const tail = text.slice(at, at + kLongestSequence);
      const csi = /^\x1b\[([0-9;:?<=>]*)[ -/]*([@-~])/.exec(tail);
      const osc = /^\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)/.exec(tail);
      const short = /^\x1b(?:[ -/]+[0-~]|[^ -/[\]PX^_])/.exec(tail);
      const found = csi ?? osc ?? short;
      if (!found && tail.length < kLongestSequence) {
        this.rest = text.slice(at) + this.rest;
        return out;
      }
      if (csi && csi[2] === 'm') this.style(csi[1] ?? '');
      from = at + (found ? found[0].length : 1);
    }
    this.put(out, text.slice(from));
    return out;
  }

  private put(out: Styled[], text: string): void {
    if (text === '') return;
    const classes = [
      this.colour && `ansi-${this.colour}`,
      this.bold && 'ansi-bold',
      this.faint && 'ansi-faint',
      this.underline && 'ansi-underline',
    ]
      .filter(Boolean)
      .join(' ');
    out.push({ text: visible(text), classes });
  }

  private style(parameters: string): void {
    const codes = parameters.split(/[;:]/).map(Number);
    for (let i = 0; i < codes.length; ++i) {
      const code = codes[i] ?? 0;
      if (code === 0) {
        this.bold = this.faint = this.underline = false;
        this.colour = '';
      } else if (code === 1) this.bold = true;
      else if (code === 2) this.faint = true;
      else if (code === 4) this.underline = true;
      else if (code === 22) this.bold = this.faint = false;
      else if (code === 24) this.underline = false;
      else if (code === 39) this.colour = '';
      else if (code >= 30 && code <= 37) this.colour = kColours[code - 30] ?? '';
      else if (code >= 90 && code <= 97) this.colour = kColours[code - 90] ?? '';
      else if (code === 38 || code === 48) {
        // Of 256 colours the first 16 have a name; the others are left as they are.
        const index = codes[i + 2] ?? 0;
        if (code === 38 && codes[i + 1] === 5 && index < 16) this.colour = kColours[index % 8] ?? '';
        i += codes[i + 1] === 5 ? 2 : 4;
      }
    }
  }
}

export function fromBase64(text: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

export const bytesText = (base64: string): string => new TextDecoder().decode(fromBase64(base64));
