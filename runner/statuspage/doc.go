// Package statuspage serves what a run is doing: a page for people and an API for
// programs (SPEC §13.3, §13.4 and, of its newer editions, §13.7). Nothing depends on it:
// a run without it does the same.
//
// The runner calls [Server.Show] with each new [progress.Progress], which only stores it.
// Everything else happens when somebody asks: the first request after a change makes a
// view of it (view.go), in which every text is fit to be shown and holds no secret. The
// page (page.go), the API (api.go) and the updates of open pages (live.go) are made from
// the same view, so none of them can show what another one hides. As long as nobody looks,
// nothing is computed.
//
// # What it must withstand
//
// Titles, states, messages and events are written by strangers and by agents. They become
// text and nothing else: html/template escapes them, only http and https addresses become
// links, and a Content-Security-Policy that allows the page's own script and style by
// their hashes is the second wall. The server answers on loopback names only and refuses
// what a page of another origin asks for, see localOnly. Clients are bounded in number and
// in what they may leave unread.
//
// A command (control.go) needs a token besides, which only the terminal of the run was told:
// other users and programs of this machine reach the port too, such as what an agent serves.
package statuspage
