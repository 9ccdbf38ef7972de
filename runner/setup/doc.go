// Package setup suggests the preparation of a project, and keeps the files that the preparation
// has made, for the workspaces of later sessions.
//
// The section setup of WORKFLOW.md names a script, such as `npm ci`. Package attempt runs it
// in the sandbox, on a clean checkout of the base, before any agent, and gives this package
// the files that it made as two streams of tar: the files of the work tree that git ignores, and
// the files of the room's home, where tools have their caches. [Folder.Save] reads each entry,
// refuses what no preparation makes (devices, paths that lead out of the tree, more than
// [MaxFiles] or [MaxBytes], a secret of the script), and compresses the rest into a pack.
// [Pack.Extract] gives the two streams out again.
//
// Tools write the absolute path of the folder that they work in into files: scripts of a
// virtual environment, settings of a build. Save knows that path and puts a mark in its place,
// and Extract puts the path of the new workspace there. Only texts and links are changed.
//
// [Detect] suggests the section for a checkout, from one table of kinds of projects, which init,
// validate and the documents share.
//
// A pack is found by its [Key], the digest of everything that decides its content. It is
// refused if it is of another key, or if a byte of it has changed.
package setup
