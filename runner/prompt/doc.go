// Package prompt turns an issue into the text that a coding agent is given
// (SPEC §5.4, §12).
//
// It decides what a template may say and what it prints. It never reads a file,
// a clock or the environment, and it never evaluates text that came with an
// issue: that is written by strangers, and reaches the prompt as it stands.
// An attempt calls [Parse], [Template.Render] for its first turn, also on a
// resumed thread, and [Continuation] for the later ones; `symphony validate` calls
// [Template.Check].
//
// # Strictness
//
// The template is Liquid. The engine is told nothing about strictness, because
// it could only see the names that it happens to evaluate. Instead every name
// and every filter is checked against a closed schema before anything is
// rendered, wherever it stands: in branches that are not taken, behind a
// short-circuited `or`, in the arguments of filters and loops. What passes the
// check is known, so at run time an absence is only ever a null, and a null
// prints empty and is false in `if`.
//
// A source is read in three steps:
//
//  1. A checker walks its tags (checker.go) and their expressions
//     (expression.go), knowing the shape of every value (shape.go). It refuses
//     what the engine would let pass, and names what is unknown.
//  2. On the way it rewrites what the engine would do badly: output goes
//     through the filter show, loops through each, and a comparison with blank
//     or empty is turned round. Authors cannot use these two filters.
//  3. The engine parses the source as it was written, for what is left.
//
// # Values
//
// The variables are issue, with the fields of SPEC §4.1.1 and assignee_id,
// dispatchable and native_ref; attempt; and run, whose resumed and
// workspace_kept are booleans: the session continues an earlier thread, and it
// works in the folder that an earlier one left. Besides them blank, empty, null
// and what the template assigns are known. Optional fields that the tracker left
// out are null; labels and blocked_by are lists, never null, and true in `if`
// even when they are empty. Times are text in RFC 3339, in UTC. A list of plain
// values prints as "a, b"; an object, or a list of objects, prints as JSON. A
// null equals blank and empty. An item that a list has not, or a key that
// native_ref has not, is null.
//
// # Bounds
//
// A render stops with an error after 100,000 loop iterations, so that a mistake in
// a template does not hang the tick, and a prompt has at most [MaxChars]
// characters. Nothing of a failed render is returned. Panics of the engine
// become errors.
package prompt
