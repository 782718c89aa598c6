// Loaded by node before the script of a runtime that was started before there was anything to run: waits for its orders
// (hotcell/request.h, Runtime), then node goes on and loads the script as it always does.
'use strict';
{
  const fs = require('fs');
  const take = (count) => {
    const bytes = Buffer.alloc(count);
    for (let at = 0; at < count; ) {
      const got = fs.readSync(0, bytes, at, count - at, null);
      if (got === 0) process.reallyExit(0); // nobody wanted us
      at += got;
    }
    return bytes.toString('utf8');
  };
  // What every first line of output needs is made now, not when somebody waits for it.
  void process.stdout._handle;
  void process.stderr._handle;
  fs.writeSync(1, '\0');
  const fields = take(Number(take(10))).split('\0');
  let at = 0;
  const next = () => fields[at++];
  const args = Array.from({ length: Number(next()) }, next);
  process.chdir(next());
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (let left = Number(next()); left > 0; left--) {
    const line = next(), split = line.indexOf('=');
    process.env[line.slice(0, split)] = line.slice(split + 1);
  }
  process.argv.splice(1, process.argv.length, ...args);
  process.execArgv.length = 0;
  delete require.cache[__filename];
}
