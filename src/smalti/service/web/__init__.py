"""The pages of the service for people: rendered here, and nothing more than a client of its operations.

A page is a function and a template. To add one:

1. In a module of a subject (`data`, `policies`, ...) write a function that takes a `Visit` and returns what
   is shown: `Shown("subject/name.html", {...})`, or, after a form was sent, `Moved("/web/...", "notice")`.
   It gets everything by `visit.asking`: `read("listData")` is the answer of that operation, for this party
   and as over HTTP. It never opens the registry, and looks at no role: the operation does. What no
   operation answers yet becomes one, in `routes/`.
2. Name it in the module's `PAGES`, with the roles of the operations that it asks for. Where it belongs into
   the navigation, add an `Entry` to its `ENTRIES`; the group begins with a digit, which orders the groups.
   What the first page says of the subject are the cards of a function in `home`. A new module goes into the
   tuple in `site`.
3. Write the template below `templates/`: it extends `base.html`, fills the blocks `title` and `main`, and
   takes `field`, `problems`, `named` and `empty` from `parts.html`. All inserted texts are escaped. A form
   is sent by POST to an address of the same path; `Form` has what was sent. Styles and scripts stand in
   `static/` alone: the content security policy refuses them in a page. The one script looks for attributes
   (`data-events`, `data-check`, `data-upload`), and every page works without it.
4. Name it in the tables of `tests/service/test_web_strangers.py`, which are over every page.

A refusal that a handler does not catch is shown with its status by `problem.html`. A handler of a form
catches it (`RefusedError`, made of every other error by `Visit.tried`) and shows the form again, with
`problems_of(...)` and a status of 4xx.
"""
