// Light or dark: what the reader chose, else what the system has.

const theme = {
  stored() { try { return localStorage.getItem("penstock-theme"); } catch { return null; } },
  set(name) {
    document.documentElement.dataset.theme = name;
    document.dispatchEvent(new Event("themechange"));
  },
  toggle() {
    const name = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("penstock-theme", name); } catch { /* a page from disk may have no storage */ }
    theme.set(name);
  },
};

(() => {
  const prefers = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => { if (!theme.stored()) theme.set(prefers.matches ? "dark" : "light"); };
  theme.set(theme.stored() || "light");
  follow();
  prefers.addEventListener("change", follow);
})();
