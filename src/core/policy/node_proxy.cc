// What node is told to read first in a cell with a proxy. Everything in it is of node itself; undici, of which its fetch is made,
// keeps what it dials with under a symbol that its users are meant to set.
#include "core/policy/proxy_env.h"

namespace hotcell {

std::string_view node_proxy() {
  return R"js(// For node before the versions that read NODE_USE_ENV_PROXY themselves: fetch and the usual agents of http and https go
// through the cell's proxy, by CONNECT. An agent of a program's own does as it likes.
'use strict';
const [major, minor] = process.versions.node.split('.').map(Number);
const url = process.env.https_proxy || process.env.HTTPS_PROXY;
if (url && major < 24 && !(major === 22 && minor > 20)) {
  const net = require('net'), tls = require('tls'), http = require('http'), https = require('https');
  const door = new URL(url);
  const local = (process.env.no_proxy || process.env.NO_PROXY || '').split(',').map((s) => s.trim()).filter(Boolean);
  const bare = (host) => host.replace(/^\[|\]$/g, '');
  const direct = (host) => local.some((l) => bare(host) === l || bare(host).endsWith('.' + l.replace(/^\./, '')));

  function tunnel(host, port, done) {
    const to = (net.isIPv6(bare(host)) ? '[' + bare(host) + ']' : host) + ':' + port;
    const socket = net.connect(door.port || 80, bare(door.hostname));
    let head = '';
    const fail = (error) => { socket.destroy(); done(error); done = () => {}; };
    const closed = () => fail(new Error('the proxy has closed the connection'));
    const read = (bytes) => {
      head += bytes.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return head.length > 65536 ? closed() : undefined;
      socket.removeListener('data', read).removeListener('error', fail).removeListener('close', closed);
      const reason = /^x-hotcell-reason: (.*)$/im.exec(head);
      if (!/^HTTP\/1\.[01] 200/.test(head)) return fail(new Error(reason ? reason[1].trim() : head.split('\r\n')[0]));
      done(null, socket);  // neither HTTP nor TLS is begun by a server: nothing has come yet
    };
    socket.on('error', fail).on('close', closed).on('data', read);
    socket.write('CONNECT ' + to + ' HTTP/1.1\r\nHost: ' + to + '\r\n\r\n');
  }
  function connect(options, secure, done) {
    const host = options.hostname || options.host || 'localhost';
    const port = options.port || (secure ? 443 : 80);
    const wrap = (socket) => {
      const over = tls.connect({ ...options, socket, path: undefined, ALPNProtocols: ['http/1.1'], servername: options.servername || (net.isIP(bare(host)) ? '' : host) });
      const fail = (error) => done(error);
      over.once('error', fail).once('secureConnect', () => { over.removeListener('error', fail); done(null, over); });
    };
    const next = (error, socket) => (error ? done(error) : secure ? wrap(socket) : done(null, socket));
    if (!direct(host)) return tunnel(host, port, next);
    const socket = net.connect(port, bare(host));
    const fail = (error) => next(error);
    socket.once('error', fail).once('connect', () => { socket.removeListener('error', fail); next(null, socket); });
  }
  http.globalAgent.createConnection = (options, done) => { connect(options, false, done); };
  https.globalAgent.createConnection = (options, done) => { connect(options, true, done); };

  const fetch = globalThis.fetch, kept = Symbol.for('undici.globalDispatcher.1');
  let told = typeof fetch !== 'function';
  if (!told)
    globalThis.fetch = function (input, init) {
      if (!told) {
        told = true;
        void globalThis.Request;  // brings in what fetch is made of, which is not there before it is needed
        const Agent = globalThis[kept] && globalThis[kept].constructor;
        if (Agent) globalThis[kept] = new Agent({ connect: (options, done) => connect(options, options.protocol === 'https:', done) });
      }
      return fetch(input, init);
    };
}
)js";
}

}  // namespace hotcell
