// A node that keeps what each call has left (cells/contexts/context.h). Code is evaluated as the developer tools do it, in
// V8's own mode for that: `let` and `const` stay and may be declared again, and `await` may stand at the top. Between calls
// the event loop goes on, so servers and timers that a call has started live.
'use strict';
{
  const fs = require('fs'), inspector = require('inspector'), net = require('net'), util = require('util'), vm = require('vm');
  const path = require('path'), { createRequire } = require('module');
  const [requests, answers] = process.argv.slice(1).map(Number);
  const mostError = 4 << 10, mostTrace = 128 << 10, mostValue = 1 << 20, mostRich = 8 << 20;
  const callName = Symbol.for('hotcell.call'), importName = '__hotcell_import';
  const tick = process._tickCallback, { concat, from: bytesOf } = Buffer, now = setImmediate, { entries } = Object;
  process.argv.splice(1, process.argv.length);

  const session = new inspector.Session();
  session.connect();
  const post = session.post.bind(session);

  // What is thrown or returned comes as a name for a thing; this is how we get the thing.
  let caught;
  const hook = (thing) => void (caught = thing);
  globalThis[callName] = hook;
  let hookId;
  post('Runtime.evaluate', { expression: 'globalThis[Symbol.for("hotcell.call")]' }, (_, r) => (hookId = r.result.objectId));
  const fetch = (remote) => {
    if (remote === undefined) return undefined;
    if (remote.unserializableValue !== undefined)
      return remote.unserializableValue.endsWith('n') ? BigInt(remote.unserializableValue.slice(0, -1)) : Number(remote.unserializableValue);
    if (remote.objectId === undefined) return remote.value;
    caught = undefined;
    post('Runtime.callFunctionOn', { functionDeclaration: 'function (v) { this(v); }', objectId: hookId, arguments: [{ objectId: remote.objectId }] });
    const thing = caught;
    caught = undefined;
    return thing;
  };

  let run = () => {};
  delete globalThis[callName];
  Object.defineProperty(globalThis, callName, { value: () => run(), enumerable: false, writable: false, configurable: false });
  Object.defineProperty(globalThis, importName, { value: (name, options) => import(name, options), enumerable: false, writable: false, configurable: false });
  const script = new vm.Script('globalThis[Symbol.for("hotcell.call")]()', { filename: 'hotcell' });
  const here = path.join(process.cwd(), 'context.js');
  globalThis.require = createRequire(here);
  globalThis.module = { exports: {}, filename: here, paths: [], children: [] };
  globalThis.exports = globalThis.module.exports;
  globalThis.__filename = here;
  globalThis.__dirname = process.cwd();

  const writeAll = (bytes) => {
    for (let at = 0; at < bytes.length; ) at += fs.writeSync(answers, bytes, at);
  };
  const tell = (type, nonce, body) => writeAll(concat([bytesOf(`${type} ${nonce} ${body.length}\n`), body]));

  const cut = (text, most) => (text.length <= most ? text : text.slice(0, most / 2) + '\n[...]\n' + text.slice(-most / 2));
  // Code may have replaced methods that everybody uses; what stands between it and its answer does without them.
  const add = (list, ...things) => {
    for (let i = 0; i < things.length; ++i) list[list.length] = things[i];
  };
  const attempt = (body) => {
    try {
      return body();
    } catch {
      return undefined;
    }
  };
  const isError = (e) => util.types.isNativeError(e) || e instanceof Error;

  // Nothing of ours is in the traces of the code.
  const ofUs = /\(node:inspector|at hotcell:1:1|\[eval\]|node:internal\/process\/task_queues/;
  const traceOf = (e) => {
    const stack = attempt(() => String(e.stack)) ?? '';
    const lines = stack.split('\n'), end = lines.findIndex((line) => /^\s+at /.test(line) && ofUs.test(line));
    return (end < 0 ? lines : lines.slice(0, end)).join('\n') + '\n';
  };
  const faultOf = (call, details) => {
    const e = fetch(details.exception);
    if (!isError(e)) {
      const text = 'Uncaught ' + (attempt(() => util.inspect(e)) ?? 'something that cannot be shown');
      return [text, `${text}\n    at ${call.name}:${details.lineNumber + 1}:${details.columnNumber + 1}\n`];
    }
    const error = attempt(() => `${e.name}: ${e.message}`) ?? 'Error';
    let trace = traceOf(e);
    if (util.types.isNativeError(e) && e.name === 'SyntaxError' && !/\n\s+at /.test(trace)) {
      // The parser's place, which the stack does not tell; past the end of the text it is its end.
      const lines = call.code.split('\n'), line = Math.min(details.lineNumber, lines.length - 1);
      trace = `${call.name}:${line + 1}\n${lines[line]}\n${trace}`;
    }
    return [error, trace];
  };

  // `import` needs to know a file, which a call is none of: import() becomes a function of ours, and a statement becomes one
  // with await. Only where the word is there at all, and never inside strings, templates, comments or regular expressions.
  const tokens =
    /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^'\\\n]|\\[\s\S])*'?|"(?:[^"\\\n]|\\[\s\S])*"?|[\p{ID_Start}$_#\d][\p{ID_Continue}$\u200c\u200d]*|\s+|[\s\S]/uy;
  const regex = /\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
  const statement =
    /import\s*(?:([\p{ID_Start}$_][\p{ID_Continue}$]*)\s*,?\s*)?(?:\*\s*as\s+([\p{ID_Start}$_][\p{ID_Continue}$]*)\s+|\{([^}]*)\}\s*)?(?:from\s*)?('[^'\n]*'|"[^"\n]*")/uy;
  const withoutImports = (code) => {
    let out = '', before = '', at = 0;
    const braces = [];
    const template = () => {
      while (at < code.length) {
        if (code[at] === '\\') out += code.slice(at, (at += 2));
        else if (code[at] === '`') return void ((out += code[at++]), (before = ')'));
        else if (code.startsWith('${', at)) return void ((out += '${'), (at += 2), braces.push('`'), (before = '{'));
        else out += code[at++];
      }
    };
    while (at < code.length) {
      if (code[at] === '`') {
        out += code[at++];
        template();
        continue;
      }
      // After a value a slash divides; after anything else it begins an expression.
      if (code[at] === '/' && !/^[/*]/.test(code.slice(at + 1, at + 2)) && (!/[\p{ID_Continue}$)\]}'"]$/u.test(before) || /^(?:return|typeof|case|in|of|do|else|void|delete|await|yield)$/.test(before))) {
        regex.lastIndex = at;
        const found = regex.exec(code);
        if (found) {
          out += found[0];
          at += found[0].length;
          before = ')';
          continue;
        }
      }
      if (code.startsWith('import', at) && before !== '.' && !/[\p{ID_Continue}$]/u.test(code[at + 6] ?? '')) {
        statement.lastIndex = at;
        const found = /^$|[;}]/.test(before) || /\n\s*$/.test(out) ? statement.exec(code) : null;
        if (found && braces.length === 0) {
          const [text, name, all, some, from] = found, parts = [];
          if (name) parts.push(`default: ${name}`);
          if (some) parts.push(some.replace(/\bas\b/g, ':'));
          const got = `await ${importName}(${from})`;
          out += all ? `const ${all} = ${got}${name ? `, { default: ${name} } = ${all}` : ''}` : parts.length ? `const { ${parts.join(', ')} } = ${got}` : got;
          out += '\n'.repeat(text.split('\n').length - 1);
          at += text.length;
          before = ')';
          continue;
        }
        if (/^import\s*\(/.test(code.slice(at, at + 40))) {
          out += importName;
          at += 6;
          before = importName;
          continue;
        }
      }
      tokens.lastIndex = at;
      const [token] = tokens.exec(code);
      at += token.length;
      out += token;
      if (token === '{') braces.push('{');
      if (token === '}' && braces.pop() === '`') template();
      else if (!/^(?:\s|\/\/|\/\*)/.test(token)) before = token;
    }
    return out;
  };

  const kinds = { 'image/png': 'png', 'image/svg+xml': 'svg', 'text/html': 'html', 'application/json': 'json' };
  const valueOf = (value, records) => {
    if (value === undefined) return;
    const shown = attempt(() => typeof value === 'object' && value !== null && value[Symbol.for('Jupyter.display')]?.());
    let left = mostRich;
    for (const [type, kind] of entries(kinds)) {
      const content = shown?.[type];
      if (content === undefined || content === null) continue;
      const bytes = attempt(() => (kind === 'png' ? bytesOf(String(content), 'base64') : bytesOf(typeof content === 'string' ? content : JSON.stringify(content))));
      if (bytes === undefined) continue;
      if (bytes.length > left) add(records, ['text', `value.${kind}`, bytesOf(`value.${kind} is left out: it has ${bytes.length} bytes; all may have 8 MiB together`)]);
      else add(records, [kind, `value.${kind}`, bytes]);
      left -= Math.min(left, bytes.length);
    }
    const text = attempt(() => util.inspect(value, { maxStringLength: 100_000, maxArrayLength: 1000, depth: 4 })) ?? '<a value that cannot be shown>';
    add(records, ['text', 'value.txt', bytesOf(cut(text, mostValue))]);
    if (text.length > mostValue) add(records, ['cut', '-', bytesOf('')]);
  };

  let call = null, number = 0;
  const finish = (mine, state, records) => {
    if (call !== mine) return;
    call = null;
    add(records, ['state', state, bytesOf('')]);
    const pieces = [];
    for (const [kind, name, bytes] of records) add(pieces, bytesOf(`${kind} ${name} ${bytes.length}\n`), bytes);
    tell('R', mine.nonce, concat(pieces));
    now(serve);
  };
  const interrupted = (mine) => finish(mine, 'interrupted', [['error', '-', bytesOf('interrupted')], ['traceback', '-', bytesOf('')]]);
  const answered = (mine, failed, result) => {
    if (call !== mine) return;
    const records = [];
    let state = 'ok';
    if (failed) {
      state = 'error';
      add(records, ['error', '-', bytesOf(cut(String(failed.message), mostError))]);
    } else if (result.exceptionDetails) {
      state = 'error';
      const [error, trace] = faultOf(mine, result.exceptionDetails);
      add(records, ['error', '-', bytesOf(cut(error, mostError))], ['traceback', '-', bytesOf(cut(trace, mostTrace))]);
    } else {
      valueOf(fetch(result.result), records);
    }
    post('Runtime.releaseObjectGroup', { objectGroup: 'call' });
    finish(mine, state, records);
  };
  const begin = (code, nonce) => {
    const mine = (call = { nonce, code, name: `<call-${++number}>` });
    let text = code;
    if (/\bimport\b/.test(code)) text = attempt(() => withoutImports(code)) ?? code;
    let reply;
    run = () => {
      post('Runtime.evaluate', { expression: `${text}\n//# sourceURL=${mine.name}`, replMode: true, awaitPromise: true, objectGroup: 'call' },
        (failed, result) => {
          if (reply === undefined) reply = [failed, result];
          // Already out of the watch: what comes later comes from the event loop.
          if (mine.later) answered(mine, failed, result);
        });
      if (reply === undefined) tick();  // what awaits nothing from outside goes on here, where an interrupt reaches it
      if (reply !== undefined) answered(mine, ...reply);
    };
    tell('B', '-', bytesOf(''));
    try {
      script.runInThisContext({ breakOnSigint: true });
    } catch (e) {
      if (e?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED') interrupted(mine);
      else finish(mine, 'error', [['error', '-', bytesOf(String(e?.message))]]);
    }
    run = () => {};
    mine.later = true;
  };
  process.on('SIGINT', () => {
    if (call !== null) interrupted(call);
  });
  // A timer or a promise that fails on its own is told of, and ends nothing.
  process.on('uncaughtException', (e) => void attempt(() => process.stderr.write(`Uncaught ${util.inspect(e)}\n`)));
  process.on('unhandledRejection', (e) => void attempt(() => process.stderr.write(`Uncaught (in promise) ${util.inspect(e)}\n`)));
  for (const stream of [process.stdout, process.stderr]) attempt(() => stream._handle.setBlocking(true));

  let pieces = [], size = 0;
  const serve = () => {
    if (call !== null || size < 10) return;
    if (pieces.length > 1) pieces = [concat(pieces)];
    const bytes = pieces[0], length = Number(bytes.toString('latin1', 0, 10));
    const whole = 10 + length + 1 + 33;
    if (size < whole) return;
    pieces = [bytes.subarray(whole)];
    size -= whole;
    begin(bytes.toString('utf8', 10, 10 + length), bytes.toString('latin1', 11 + length, 43 + length));
  };
  const socket = new net.Socket({ fd: requests, readable: true, writable: false });
  socket.on('data', (piece) => {
    add(pieces, piece);
    size += piece.length;
    serve();
  });
  socket.on('end', () => process.reallyExit(0));
  socket.on('error', () => process.reallyExit(0));
  tell('H', '-', bytesOf(''));
}
