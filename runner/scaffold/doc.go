// Package scaffold decides which files a new project gets, from which answers, and writes
// them. It does the work of "symphony init" apart from its flags and its terminal.
//
// # Story
//
// [Find] finds out which repository a checkout belongs to, which of its workflows of
// Actions check pull requests, and which setup prepares it (package setup). [Questions] are
// answered by a person, a flag or a default; each one puts its answer into the [Setup], or
// refuses it with a reason, and the default of a question depends on the answers before it.
// [Setup.Files] fills the templates in the folder templates: WORKFLOW.md, the workflow of Actions
// that runs it, and for a folder of issues a first issue. [Write] writes them. [Setup.Steps] are
// the commands that are left to do until the first dry run, and [Setup.Ending] is the text on
// the steps after them. [Trial] is the workflow that tries out what GitHub does in a repository;
// it needs no answers.
//
// # Invariants
//
// Nothing is overwritten: [Write] writes all files or none, and nothing outside of the
// folder, whatever links there are in it. No file and no step holds a secret: a key is
// typed into gh or read by the shell, and the files only name variables.
//
// The templates are in double brackets, because the prompt of a WORKFLOW.md is a template
// with double braces itself. The tests check the files for all answers: by the
// program's own validation, by its JSON schema, and by the linter of workflows.
package scaffold
