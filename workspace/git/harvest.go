package git

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"strings"
)

//go:embed harvest.sh
var harvestScript string

// Harvest returns the command that packs the agent's work. Run it inside the sandbox of
// the agent, in the workspace, when no other process of the agent runs; its standard
// output is what [Store.Receive] reads. start is the commit that the workspace was made
// from, temp an absolute path of a folder that the sandbox may write to, and tree says
// which files the checkout made. A repository of 20,000 files takes half a second, an
// agent that moved its branch to another history a minute.
//
// A file outside of Paths that is missing is unchanged; one that the agent made there is
// work. The workspace's own settings of a sparse checkout are not looked at, so a folder
// of Paths that the agent makes disappear with them is deleted, as if by rm. Files in
// folders that are left out, or that the sandbox keeps read-only, are unchanged. Files in
// Git LFS are taken as pointers; for their objects see [Incoming.NewObjects].
func (h *Host) Harvest(start ObjectID, temp string, tree WorkTree) Command {
	c := h.harvest(start, temp, append([]string{"all", strings.Join(tree.LeftOut, " ")}, excludeSparse(tree.Paths)...))
	if tree.LFS {
		c.Env = append(c.Env, lfsHarvestEnv...)
	}
	return c
}

// HarvestCommits returns the command that packs the agent's commits alone, for a work
// tree that may not have been filled; see Harvest.
func (h *Host) HarvestCommits(start ObjectID, temp string) Command {
	return h.harvest(start, temp, []string{"commits", ""})
}

func (h *Host) harvest(start ObjectID, temp string, args []string) Command {
	return Command{
		Args: append([]string{h.shell, "-c", readOnlyFunctions + harvestScript, "sh", start.String(), h.git}, args...),
		Env:  append([]string{"TMPDIR=" + temp}, sandboxEnv...),
	}
}

// Uncommitted says how much of what the agent had not committed was taken along.
type Uncommitted string

// The values of Uncommitted.
const (
	TakenAll  Uncommitted = "all"  // also if there was nothing
	TakenSome Uncommitted = "some" // without nested repositories or files that cannot be read
	TakenNone Uncommitted = "none" // a file is larger than 32 MiB, or the repository is broken
)

// harvestHeader is the first line that the harvest prints.
type harvestHeader struct {
	head, tip ObjectID
	taken     Uncommitted
}

const maxHeader = 200 // bytes of the first line

// readHeader reads the first line of a harvest.
func readHeader(r *bufio.Reader) (harvestHeader, error) {
	var line []byte
	for {
		b, err := r.ReadByte()
		switch {
		case err == io.EOF:
			return harvestHeader{}, &Refusal{Reason: fmt.Sprintf("the harvest ended in its first line %q", sanitize(string(line))), Err: io.ErrUnexpectedEOF}
		case err != nil:
			return harvestHeader{}, &Refusal{Reason: fmt.Sprintf("the harvest failed: %v", err), Err: err}
		case b == '\n':
			return parseHeader(string(line))
		case len(line) == maxHeader:
			return harvestHeader{}, refuse("the harvest begins with %q", sanitize(string(line)))
		}
		line = append(line, b)
	}
}

func parseHeader(line string) (h harvestHeader, err error) {
	fields := strings.Split(line, " ")
	if len(fields) != 4 || fields[0] != "symphony-pack" {
		return harvestHeader{}, refuse("the harvest begins with %q", sanitize(line))
	}
	h.taken = Uncommitted(fields[3])
	if h.taken != TakenAll && h.taken != TakenSome && h.taken != TakenNone {
		return harvestHeader{}, refuse("the harvest begins with %q", sanitize(line))
	}
	var err1, err2 error
	h.head, err1 = ParseObjectID(fields[1])
	h.tip, err2 = ParseObjectID(fields[2])
	if err1 != nil || err2 != nil || h.tip.IsZero() || h.head.IsZero() {
		return harvestHeader{}, refuse("the harvest begins with %q", sanitize(line))
	}
	return h, nil
}
