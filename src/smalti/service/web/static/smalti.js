// What pages do better with a script; each of them works without it.
"use strict";

// The summary of what is wrong is read first.
document.querySelector("[data-focus]")?.focus();

// A job is followed until it is over; then the page has its result.
for (const followed of document.querySelectorAll("[data-events]")) {
  const events = new EventSource(followed.dataset.events);
  const over = new Set(["done", "failed", "stopped", "died"]);
  events.addEventListener("job", (event) => {
    const job = JSON.parse(event.data);
    const state = followed.querySelector("[data-state]");
    const phase = followed.querySelector("[data-phase]");
    if (state.textContent !== job.state) state.textContent = job.state;
    phase.textContent = job.phase ?? "";
    if (over.has(job.state)) {
      events.close();
      location.reload();
    }
  });
  events.addEventListener("problem", () => { events.close(); location.reload(); });
}

// A policy is checked while it is written.
for (const form of document.querySelectorAll("[data-check]")) {
  const text = form.elements.namedItem("text");
  const writing = form.elements.namedItem("writing");
  const findings = form.querySelector("[data-findings]");
  let waiting, asked = 0;
  const check = async () => {
    const number = ++asked;
    const body = new URLSearchParams({ text: text.value, writing: writing.value });
    const answer = await fetch(form.dataset.check, { method: "POST", body });
    if (!answer.ok || number !== asked) return;
    const part = new DOMParser().parseFromString(await answer.text(), "text/html");
    findings.replaceChildren(...part.body.childNodes);
  };
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(check, 400); };
  text.addEventListener("input", soon);
  writing.addEventListener("change", soon);
  // A finding leads to its place.
  findings.addEventListener("click", (event) => {
    const link = event.target.closest("[data-line]");
    if (!link) return;
    event.preventDefault();
    const lines = text.value.split("\n");
    const before = lines.slice(0, Number(link.dataset.line) - 1);
    const place = before.reduce((sum, line) => sum + line.length + 1, 0) + Number(link.dataset.column) - 1;
    text.focus();
    text.setSelectionRange(place, place + 1);
    text.scrollTop = Math.max(0, before.length - 4) * parseFloat(getComputedStyle(text).lineHeight);
  });
}

// A file shows how much of it is sent.
for (const form of document.querySelectorAll("[data-upload]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const status = form.querySelector("[data-status]");
    const shown = form.querySelector("[data-progress]");
    const bar = shown.querySelector("progress");
    const sent = new XMLHttpRequest();
    shown.hidden = false;
    status.textContent = "Sending the file.";
    sent.upload.addEventListener("progress", (part) => { if (part.lengthComputable) bar.value = (100 * part.loaded) / part.total; });
    sent.upload.addEventListener("load", () => { status.textContent = "The file is sent, and is being kept."; });
    sent.addEventListener("load", () => {
      if (sent.status < 400) { location.assign(sent.responseURL); return; }
      const page = new DOMParser().parseFromString(sent.responseText, "text/html");
      document.querySelector("main").replaceWith(page.querySelector("main"));
      document.querySelector("[data-focus]")?.focus();
    });
    sent.addEventListener("error", () => { shown.hidden = true; status.textContent = "The file could not be sent. Try again."; });
    sent.open("POST", form.action);
    sent.setRequestHeader("Smalti-Script", "1");
    sent.send(new FormData(form));
  });
}
