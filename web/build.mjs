// node build.mjs MODULES OUT: bundles the page and writes what embeds it into the program.
//
//   OUT/files/…            index.html, and under assets/ names with the hash of what is in them; beside each its .gz
//   OUT/assets_embed.S     .incbin of each
//   OUT/assets_table.inc   a line of C++ for each: path, type, hash, symbols
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

// All of it, gzipped. A dashboard that is larger has something in it that does not belong there.
const kMost = 150 * 1024;

const here = dirname(fileURLToPath(import.meta.url));
const [modules, out] = process.argv.slice(2).map((p) => resolve(p));
const esbuild = ['x64', 'arm64'].map((cpu) => join(modules, `@esbuild/linux-${cpu}/bin/esbuild`)).find(existsSync);
if (!esbuild) throw new Error(`no esbuild in ${modules}`);

const files = join(out, 'files');
rmSync(files, { recursive: true, force: true });
mkdirSync(join(files, 'assets'), { recursive: true });

function bundle(source, kind) {
  return execFileSync(
    esbuild,
    [
      join(here, source),
      '--bundle',
      '--minify',
      '--target=es2022,chrome109,firefox115,safari16',
      '--charset=utf8',
      '--legal-comments=none',
      `--format=${kind}`,
      '--jsx=automatic',
      '--jsx-import-source=preact',
      `--alias:uplot.css=${join(modules, 'uplot/dist/uPlot.min.css')}`,
      `--alias:xterm.css=${join(modules, '@xterm/xterm/css/xterm.css')}`,
    ].filter((a) => kind !== 'css' || !/^--(format|jsx)/.test(a)),
    { env: { ...process.env, NODE_PATH: modules }, maxBuffer: 64 << 20 },
  );
}

const built = {
  'app.js': bundle('src/main.tsx', 'iife'),
  'boot.js': bundle('src/boot.ts', 'iife'),
  'app.css': bundle('src/style.css', 'css'),
  'icon.svg': readFileSync(join(here, 'icon.svg')),
};
const types = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  html: 'text/html; charset=utf-8',
};

const rows = [];
function emit(path, bytes) {
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  const file = join(files, path);
  const packed = gzipSync(bytes, { level: 9 });
  writeFileSync(file, bytes);
  writeFileSync(`${file}.gz`, packed);
  rows.push({
    path: path === 'index.html' ? '/' : `/${path}`,
    type: types[path.split('.').pop()],
    hash,
    file,
    packed: packed.length,
  });
}

let page = readFileSync(join(here, 'index.html'), 'utf8');
for (const [name, bytes] of Object.entries(built)) {
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 12);
  const named = name.replace('.', `-${hash}.`);
  emit(`assets/${named}`, bytes);
  page = page.replaceAll(`%${name}%`, named);
}
emit('index.html', Buffer.from(page));

const all = rows.reduce((sum, r) => sum + r.packed, 0);
if (all > kMost) throw new Error(`the dashboard is ${all} bytes gzipped, more than ${kMost}`);

const blob = (symbol, file) =>
  `.balign 16\n.global ${symbol}_begin\n${symbol}_begin:\n.incbin "${file}"\n.global ${symbol}_end\n${symbol}_end:\n`;
const assembler = rows
  .map((r, i) => blob(`hotcell_asset_${i}`, r.file) + blob(`hotcell_asset_${i}_gz`, `${r.file}.gz`))
  .join('');
writeFileSync(join(out, 'assets_embed.S'), `.section .rodata\n${assembler}.section .note.GNU-stack,"",%progbits\n`);
writeFileSync(
  join(out, 'assets_table.inc'),
  rows.map((r, i) => `X(${i}, "${r.path}", "${r.type}", "${r.hash}")\n`).join(''),
);
console.log(`dashboard: ${all} bytes gzipped`);
