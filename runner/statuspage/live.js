// Keeps an open page up to date: it takes the sections that changed from the server's
// events, and counts the times on the page. Without it the page is what it was when it
// was loaded.
'use strict';
(() => {
  const body = document.body, live = document.getElementById('live'), poll = document.getElementById('poll');
  const maxEntries = 500; // of a transcript; the oldest are removed

  const two = (n) => String(n).padStart(2, '0');

  // span returns a time in seconds as people read it, in two units at most.
  const span = (s) => {
    if (s < 60) return s + 's';
    if (s < 3600) return Math.floor(s / 60) + 'm' + two(s % 60) + 's';
    if (s < 86400) return Math.floor(s / 3600) + 'h' + two(Math.floor(s / 60) % 60) + 'm';
    return Math.floor(s / 86400) + 'd' + two(Math.floor(s / 3600) % 24) + 'h';
  };

  const words = {
    age: (s) => span(Math.max(s, 0)),
    ago: (s) => span(Math.max(s, 0)) + ' ago',
    in: (s, due) => (s < 0 ? 'in ' + span(-s) : due || 'now'),
  };

  // count shows the times below a node as they are now.
  const count = (node) => {
    const now = Date.now();
    for (const time of node.querySelectorAll('time[data-as]')) {
      const at = new Date(time.dateTime);
      const text = words[time.dataset.as](Math.round((now - at) / 1000), time.dataset.due);
      if (time.textContent !== text) time.textContent = text;
    }
  };

  // morph changes a node into another one, and keeps what is the same: the focus, a
  // selection and what is unfolded stay.
  const morph = (old, fresh) => {
    if (old.isEqualNode(fresh)) return;
    if (old.nodeName !== fresh.nodeName || old.nodeType !== Node.ELEMENT_NODE) {
      old.replaceWith(fresh);
      return;
    }
    const open = old.nodeName === 'DETAILS' && old.open;
    for (const a of [...old.attributes]) if (!fresh.hasAttribute(a.name) && a.name !== 'title') old.removeAttribute(a.name);
    for (const a of fresh.attributes) if (old.getAttribute(a.name) !== a.value) old.setAttribute(a.name, a.value);
    if (open) old.open = true;
    const rows = new Map();
    for (const child of old.children) if (child.dataset.key) rows.set(child.dataset.key, child);
    let at = old.firstChild;
    for (const child of [...fresh.childNodes]) {
      const row = child.dataset && child.dataset.key ? rows.get(child.dataset.key) : at && !(at.dataset && at.dataset.key) ? at : null;
      if (!row) {
        old.insertBefore(child, at);
        continue;
      }
      if (row === at) at = at.nextSibling;
      else old.insertBefore(row, at);
      rows.delete(child.dataset && child.dataset.key);
      morph(row, child);
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  };

  const parse = (html) => {
    const template = document.createElement('template');
    template.innerHTML = html;
    count(template.content);
    return template.content;
  };

  const onUpdate = (update) => {
    if (update.build !== body.dataset.build) {
      location.reload(); // the program is another one
      return;
    }
    count(document);
    if (update.title) document.title = update.title;
    for (const section of update.sections || []) {
      const old = document.getElementById(section.id);
      if (old) morph(old, parse(section.html).firstElementChild);
    }
    const log = update.transcript, entries = document.getElementById('entries');
    if (!log || !entries) return;
    const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 40;
    if (log.restart) entries.replaceChildren();
    for (const html of log.entries || []) entries.append(parse(html));
    if (log.restart) document.getElementById('omitted').hidden = !log.omitted;
    while (entries.children.length > maxEntries) {
      entries.firstElementChild.remove();
      document.getElementById('omitted').hidden = false;
    }
    document.getElementById('transcript').hidden = !entries.children.length;
    if (atEnd && !log.restart) scrollTo(0, document.documentElement.scrollHeight);
  };

  let source = null, timer = 0, last = new Date();
  const say = (text, state) => {
    if (live.textContent !== text) live.textContent = text;
    live.dataset.state = state;
  };
  const connect = () => {
    clearTimeout(timer);
    if (source) source.close();
    source = new EventSource(body.dataset.live);
    source.onopen = () => say('Live', 'on');
    source.addEventListener('update', (e) => {
      last = new Date();
      onUpdate(JSON.parse(e.data));
    });
    source.onerror = () => {
      say('Not connected. This is how it was at ' + last.toLocaleTimeString() + '.', 'off');
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(connect, 5000);
    };
  };

  // A page that nobody sees asks for nothing: browsers allow few connections to a server.
  const onVisible = () => {
    if (!document.hidden) {
      connect();
    } else if (source) {
      source.close();
      clearTimeout(timer);
      say('Waits until it is seen.', 'off');
    }
  };

  // The token of commands stands behind the # of the address that the program printed. It is kept
  // for this host and port alone, and is sent in a header, so no link and no other site has it.
  let token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (token) {
    localStorage.setItem('token', token);
    history.replaceState(null, '', location.pathname + location.search);
  }
  token = localStorage.getItem('token');
  body.classList.toggle('operator', !!token);
  document.addEventListener('click', async (e) => {
    const button = e.target.closest('button[data-word]'), control = button && button.closest('[data-command]');
    if (!control || !token) return;
    const noted = document.getElementById('noted'), answer = document.getElementById('answer'), word = button.dataset.word;
    button.disabled = true;
    try {
      const answered = await fetch(control.dataset.command, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: 'Bearer ' + token },
        body: JSON.stringify({ command: word, answer: word === 'answer' ? answer.value : '', as_of: control.dataset.asOf }),
      });
      const said = await answered.json();
      if (said.error && said.error.code === 'wrong_token') {
        localStorage.removeItem('token');
        token = null;
      }
      noted.textContent = said.error ? said.error.message : 'Noted: ' + button.textContent + '.';
    } catch {
      noted.textContent = 'The program does not answer.';
    }
    button.disabled = false;
  });

  poll.hidden = false;
  poll.onclick = async () => {
    poll.disabled = true;
    try {
      await fetch('/api/v1/refresh', { method: 'POST' });
    } catch {} // the connection's state is shown beside it
    setTimeout(() => (poll.disabled = false), 1000);
  };
  count(document);
  setInterval(() => document.hidden || count(document), 1000);
  document.addEventListener('pointerover', (e) => {
    const time = e.target.closest('time'); // only then: to write a hundred dates takes longer than to lay out the page
    if (time) time.title = new Date(time.dateTime).toLocaleString();
  });
  document.addEventListener('visibilitychange', onVisible);
  new PerformanceObserver((_, paint) => {
    paint.disconnect();
    onVisible(); // not before: it would delay the first paint
  }).observe({ type: 'paint', buffered: true });
})();
