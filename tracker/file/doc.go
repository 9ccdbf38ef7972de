// Package file is the tracker that needs no service: a folder of Markdown
// files, one per issue. It is the default of the program and the tracker of
// its demo.
//
// README.md has the format of an issue's file and the adapter's profile.
//
// Each read opens the folder again, so one that was replaced (by a checkout, for
// example) is never mistaken for an empty one.
//
// Comments are not part of the description, as with every other tracker, so a
// comment of the agent does not change the fingerprint. The tool replaces
// a file in one step and keeps its permissions. It looks once more before the
// rename, so that an edit by somebody else is lost only in the instant between.
package file
