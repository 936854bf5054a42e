// What pages do better with a script; each of them works without it.
"use strict";

document.querySelector("[data-focus]")?.focus();
