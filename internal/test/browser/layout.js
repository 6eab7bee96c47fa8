// Lists what is wrong with the layout of a page, as strings.
(() => {
  const faults = [];
  const width = document.documentElement.clientWidth;
  const what = (e) => `<${e.tagName.toLowerCase()}> "${(e.getAttribute('aria-label') || e.textContent).trim().slice(0, 40)}"`;
  const scrolls = (e) => e && e !== document.documentElement &&
    (['auto', 'scroll'].includes(getComputedStyle(e).overflowX) ? e : scrolls(e.parentElement));

  if (document.documentElement.scrollWidth > width) {
    faults.push(`the page is ${document.documentElement.scrollWidth} px wide in a window of ${width} px`);
  }
  for (const svg of document.querySelectorAll('svg')) {
    const box = svg.getBoundingClientRect();
    if (box.width < 100 || box.height < 100) {
      faults.push(`${what(svg)} has ${box.width} by ${box.height} px`);
    }
    const texts = svg.querySelectorAll('text');
    if (texts.length === 0) {
      faults.push(`${what(svg)} has no text`);
    }
    for (const text of texts) {
      const t = text.getBoundingClientRect();
      const spacing = 0.3 * Math.min(t.width, t.height); // between lines, which a box includes and no glyph fills
      if (t.left < box.left - spacing || t.right > box.right + spacing || t.top < box.top - spacing || t.bottom > box.bottom + spacing) {
        faults.push(`${what(text)} is clipped`);
      }
      if (Math.min(t.width, t.height) < 5 || Math.max(t.width, t.height) < 8) {
        faults.push(`${what(text)} is ${t.width} by ${t.height} px`);
      }
    }
  }
  for (const table of document.querySelectorAll('table')) {
    const box = table.getBoundingClientRect();
    const frame = scrolls(table.parentElement);
    if (box.right > width && !frame) {
      faults.push(`${what(table)} ends at ${box.right} px and does not scroll`);
    }
    for (const cell of table.querySelectorAll('th, td')) {
      const c = cell.getBoundingClientRect();
      if (cell.scrollWidth > cell.clientWidth + 1) {
        faults.push(`${what(cell)} overflows its cell`);
      }
      if (parseFloat(getComputedStyle(cell).fontSize) < 11) {
        faults.push(`${what(cell)} has a font of ${getComputedStyle(cell).fontSize}`);
      }
      if (c.width > 0.6 * width) {
        faults.push(`${what(cell)} takes ${c.width} of ${width} px`);
      }
    }
  }
  return [...new Set(faults)];
})()
