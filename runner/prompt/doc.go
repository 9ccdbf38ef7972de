// Package prompt turns an issue into the text that a coding agent is given
// (SPEC §5.4, §12).
//
// It decides which templates are allowed and how they print values. It never reads a
// file, a clock or the environment, and it never evaluates the text of an issue:
// strangers write it, and it is inserted as it is.
// An attempt calls [ParseAt], [Template.Render] for its first turn, also on a
// resumed thread, and [Continuation] for the later ones; `symphony validate` and the
// tick call [Check] before anything is started.
//
// # Strictness
//
// The template is Liquid. The engine's own strict mode sees only the names that it
// happens to evaluate. So every name and every filter is checked against a closed
// schema before anything is rendered, wherever it stands: in branches that are not
// taken, behind a short-circuited `or`, in the arguments of filters and loops. At
// run time a missing value is then always a null, which prints empty and is false
// in `if`.
//
// A source is read in three steps:
//
//  1. A checker walks its tags (checker.go, tag.go) and their expressions
//     (expression.go) with the type of every value (type.go). It refuses errors that
//     the engine would accept, and reports unknown names. The engine has no
//     such list: its parsed expressions are functions, which only an evaluation looks into.
//  2. It rewrites the parts that the engine would do badly: output passes through the
//     filter show, loops through the filter each, and a comparison with blank or
//     empty becomes the filter equals. Authors cannot use these three filters.
//  3. The engine parses the source as it was written, and reports all other errors.
//
// # Values
//
// The variables and how their values print are in runner/workflow/README.md. A null
// equals blank and empty. A missing item of a list, or key of native_ref, is null.
//
// # Bounds
//
// A render stops with an error after 100,000 loop iterations, so that a mistake in
// a template does not hang the tick, and a prompt has at most a million
// characters. Nothing of a failed render is returned. Panics of the engine
// become errors.
package prompt
