'use strict';
// Everything can be read without this: it only makes tables sortable and searchable, and lets the
// graph hide what is less probable than the reader asks for.
for (const table of document.querySelectorAll('table')) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  [...table.tHead.rows[0].cells].forEach((head, place) => {
    if (!head.textContent || rows.length < 2) return;
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener('click', () => {
      const number = head.classList.contains('number');
      const before = head.getAttribute('aria-sort');
      const down = before ? before === 'ascending' : number;
      for (const other of head.parentNode.cells) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const key = row => {
        const cell = row.cells[place];
        return number ? parseFloat(cell.dataset.sort) : cell.textContent;
      };
      rows.sort((a, b) => {
        const x = key(a), y = key(b);
        if (number) {
          if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y);
          return down ? y - x : x - y;
        }
        return (down ? -1 : 1) * x.localeCompare(y, undefined, {numeric: true});
      });
      body.append(...rows);
    });
  });
}
for (const filter of document.querySelectorAll('.filter')) {
  filter.hidden = false;
  const input = filter.querySelector('input');
  const status = filter.querySelector('[role=status]');
  const rows = [...document.getElementById(input.getAttribute('aria-controls')).tBodies[0].rows];
  input.addEventListener('input', () => {
    const wanted = input.value.toLowerCase();
    let shown = 0;
    for (const row of rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
      if (!row.hidden) shown++;
    }
    status.textContent = wanted ? `${shown} of ${rows.length}` : '';
  });
}
for (const graph of document.querySelectorAll('.graph')) {
  graph.querySelector('.control').hidden = false;
  const input = graph.querySelector('input');
  const output = graph.querySelector('output');
  const items = [...graph.querySelectorAll('.item')];
  const show = () => {
    const least = parseFloat(input.value);
    output.textContent = least.toFixed(2);
    const weak = least < parseFloat(graph.dataset.shown);
    graph.querySelector('.main').hidden = weak;
    graph.querySelector('.weak').hidden = !weak;
    for (const item of items) item.classList.toggle('off', parseFloat(item.dataset.value) < least);
  };
  input.addEventListener('input', show);
  show();
}
// Printed pages show all tables that are not very long.
window.addEventListener('beforeprint', () => {
  for (const table of document.querySelectorAll('details.table')) if (table.querySelectorAll('tr').length < 40) table.open = true;
  for (const run of document.querySelectorAll('details.run')) run.open = true;
});
