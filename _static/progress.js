// Mark in the map of the front page which chapters were read to the end, and name the next one.
// Nothing leaves the browser. Without storage nothing is marked.
(() => {
  const KEY = "chapters-read";
  const load = () => {
    try {
      const found = JSON.parse(localStorage.getItem(KEY) ?? "[]");
      return new Set(Array.isArray(found) ? found : []);
    } catch {
      return new Set();
    }
  };
  const save = (read) => {
    try {
      localStorage.setItem(KEY, JSON.stringify([...read].sort()));
    } catch {
      // Storage is full or blocked: the marks last as long as the page.
    }
  };
  const name = (url) => new URL(url, location.href).pathname.match(/chapters\/(\w+)\.html$/)?.[1];

  const atEnd = () => {
    const chapter = name(location.href);
    const summary = document.querySelector("section#summary");
    if (!chapter || !summary) return;
    const watch = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      watch.disconnect();
      save(load().add(chapter));
    });
    watch.observe(summary);
  };

  const onMap = () => {
    /** @type {NodeListOf<HTMLAnchorElement>} */
    const found = document.querySelectorAll("section#the-map ol a");
    const links = [...found].filter((a) => name(a.href));
    if (!links.length) return;
    const note = document.createElement("p");
    note.className = "progress";
    const show = () => {
      const read = load();
      const unread = links.filter((a) => !read.has(name(a.href)));
      for (const a of links) {
        a.parentElement?.querySelector(".read")?.remove();
        if (!read.has(name(a.href))) continue;
        const mark = document.createElement("span");
        mark.className = "read";
        mark.textContent = " ✓ read";
        a.after(mark);
      }
      note.replaceChildren();
      note.hidden = unread.length === links.length;
      if (note.hidden) return;
      const next = unread[0];
      const forget = document.createElement("button");
      forget.type = "button";
      forget.textContent = "Forget the marks";
      forget.addEventListener("click", () => {
        save(new Set());
        show();
      });
      if (next) {
        const link = document.createElement("a");
        link.href = next.href;
        link.textContent = next.textContent;
        note.append("Next for you: ", link, ". ");
      } else note.append("You have read them all. ");
      note.append("Only this browser remembers what you have read. ", forget);
    };
    show();
    addEventListener("pageshow", show); // after the Back button, too
    document.querySelector("section#the-map ol")?.after(note);
  };

  const start = () => {
    atEnd();
    onMap();
  };
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
})();
