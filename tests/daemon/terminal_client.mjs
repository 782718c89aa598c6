// node --experimental-websocket terminal_client.mjs URL STEP…: a terminal by WebSocket, with the client that comes with Node.
//   type:TEXT   types it, with an end of line      expect:TEXT  waits until it was shown
//   resize:R,C  says how large it is               text:TEXT    sends a text message as it is
//   binary:N    sends N bytes in one message       close        closes, and waits for the close
//   closed:CODE waits for a close with that code   key:KEY      (first) offers it as browsers do
const [url, ...steps] = process.argv.slice(2);
const protocols = ['hotcell-terminal'];
if (steps[0]?.startsWith('key:')) protocols.push(`hotcell-key.${steps.shift().slice(4)}`);
const socket = new WebSocket(url, protocols);
socket.binaryType = 'arraybuffer';
let shown = '';
let closed = null;
let wake = () => {};
socket.onmessage = (m) => {
  shown += Buffer.from(m.data).toString();
  wake();
};
socket.onclose = (e) => {
  closed = e;
  wake();
};
let refused = false;
socket.onerror = () => {
  refused = socket.readyState !== WebSocket.OPEN;
  wake();
};
const until = async (what, holds) => {
  const end = Date.now() + 60_000;
  while (!holds()) {
    if (Date.now() > end || (what === 'open' && refused) || (closed && !what.startsWith('closed'))) {
      console.log(`${what}: did not come; shown: ${JSON.stringify(shown)}; closed: ${closed?.code} ${closed?.reason}`);
      process.exit(1);
    }
    await new Promise((done) => {
      wake = done;
      setTimeout(done, 200);
    });
  }
};
if (steps[0]?.startsWith('closed:')) await until('closed', () => closed);
else await until('open', () => socket.readyState === WebSocket.OPEN);
for (const step of steps) {
  const [what, rest] = [step.split(':')[0], step.slice(step.indexOf(':') + 1)];
  if (what === 'type') socket.send(new TextEncoder().encode(`${rest}\n`));
  else if (what === 'expect') await until(step, () => shown.includes(rest));
  else if (what === 'resize') socket.send(JSON.stringify({ resize: rest.split(',').map(Number) }));
  else if (what === 'text') socket.send(rest);
  else if (what === 'binary') socket.send(new Uint8Array(Number(rest)));
  else if (what === 'close') {
    socket.close(1000);
    await until('closed', () => closed);
  } else if (what === 'closed') await until('closed', () => closed && closed.code === Number(rest));
}
console.log(`protocol ${socket.protocol}`);
process.exit(0);
