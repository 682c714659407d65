// Canvases that are zoomed and moved by wheel, drag and keys.

/** Sizes the canvas for the screen and clears it; its context in CSS pixels. */
function prepare(canvas, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.style.height = height + "px";
  const width = canvas.clientWidth;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const g = canvas.getContext("2d");
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.clearRect(0, 0, width, height);
  return g;
}

/** Draws once the canvas stands in the page, and again when it gets another size or theme. */
function onShown(canvas, draw) {
  let width = -1;
  new ResizeObserver(() => { if (canvas.clientWidth && canvas.clientWidth !== width) { width = canvas.clientWidth; draw(); } }).observe(canvas);
  document.addEventListener("themechange", () => { if (canvas.isConnected) draw(); });
}

/** `to`: zoom(x, factor, y), pan(dx, dy), all(), hover(x, y, event), click(x, y). */
function zoomable(canvas, to) {
  const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  let held = null, moved = 0;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const [x, y] = at(event);
    if (event.shiftKey) to.pan(-event.deltaY, 0);
    else to.zoom(x, Math.exp(-event.deltaY * 0.0022), y);
  }, {passive: false});
  canvas.addEventListener("pointerdown", (event) => { held = [event.clientX, event.clientY]; moved = 0; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    if (!held) { to.hover(x, y, event); return; }
    moved += Math.abs(event.clientX - held[0]) + Math.abs(event.clientY - held[1]);
    to.pan(event.clientX - held[0], event.clientY - held[1]);
    held = [event.clientX, event.clientY];
  });
  canvas.addEventListener("pointerup", (event) => { const [x, y] = at(event); if (held && moved < 5) to.click(x, y); held = null; });
  canvas.addEventListener("pointerleave", () => tip.hide());
  canvas.addEventListener("keydown", (event) => {
    const width = canvas.clientWidth, height = canvas.clientHeight, key = event.key;
    const keys = {"+": () => to.zoom(width / 2, 1.4, height / 2), "=": () => to.zoom(width / 2, 1.4, height / 2), "-": () => to.zoom(width / 2, 1 / 1.4, height / 2), "0": to.all,
      ArrowLeft: () => to.pan(80, 0), ArrowRight: () => to.pan(-80, 0), ArrowUp: () => to.pan(0, 80), ArrowDown: () => to.pan(0, -80)};
    if (!keys[key]) return;
    event.preventDefault();
    event.stopPropagation();
    keys[key]();
  });
}
