'use strict';
// Everything works without this: it shows progress as it comes, and that a request is on its way.
for (const form of document.querySelectorAll('form')) {
  form.addEventListener('submit', () => {
    for (const button of form.querySelectorAll('button')) button.disabled = true;
    const status = form.querySelector('[role=status]');
    if (status && form.dataset.busy) status.textContent = form.dataset.busy;
  });
}
window.addEventListener('pageshow', () => {
  for (const button of document.querySelectorAll('button')) button.disabled = false;
});
// A number within a choice chooses it.
for (const input of document.querySelectorAll('.option input[type=text]')) {
  input.addEventListener('input', () => { input.closest('.option').querySelector('input[type=radio]').checked = true; });
}
const live = document.getElementById('live');
if (live) {
  const bar = live.querySelector('progress');
  const line = live.querySelector('.line');
  const look = async () => {
    try {
      const answer = await fetch(live.dataset.progress);
      const now = await answer.json();
      if (now.state !== live.dataset.state) return location.reload();
      if (line.textContent !== now.line) line.textContent = now.line;
      if (now.total) {
        bar.max = now.total;
        bar.value = now.done;
      }
    } catch {
      line.textContent = 'The server does not answer. The run is kept; start vti serve again.';
    }
    setTimeout(look, 300);
  };
  setTimeout(look, 150);
}
