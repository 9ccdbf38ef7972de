package git

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// packWriter writes a pack byte by byte, as git would not.
type packWriter struct {
	count uint32
	body  bytes.Buffer
	z     map[int]*zlib.Writer // by level
	added map[ObjectID]bool
}

// object adds an object of a kind of the pack format; size is what its header says.
func (p *packWriter) object(kind byte, size int, before, data []byte) {
	p.count++
	b := kind<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		p.body.WriteByte(b | 0x80)
		b = byte(size & 0x7f)
	}
	p.body.WriteByte(b)
	p.body.Write(before)
	level := zlib.BestSpeed
	if len(data) < 100 {
		level = zlib.NoCompression // which takes a tenth of the time, for the same size
	}
	z := p.z[level]
	if z == nil {
		z, _ = zlib.NewWriterLevel(&p.body, level)
		if p.z == nil {
			p.z = map[int]*zlib.Writer{}
		}
		p.z[level] = z
	} else {
		z.Reset(&p.body)
	}
	z.Write(data)
	z.Close()
}

var kinds = map[string]byte{"commit": 1, "tree": 2, "blob": 3, "tag": 4}

// add adds an object unless the pack has it, and returns its id.
func (p *packWriter) add(kind string, data []byte) ObjectID {
	id := objectID(kind, data)
	if p.added == nil {
		p.added = map[ObjectID]bool{}
	}
	if !p.added[id] {
		p.added[id] = true
		p.object(kinds[kind], len(data), nil, data)
	}
	return id
}

func objectID(kind string, data []byte) ObjectID {
	h := sha1.New()
	fmt.Fprintf(h, "%s %d\x00", kind, len(data))
	h.Write(data)
	return ObjectID(h.Sum(nil))
}

// blob, tree and commit add such objects.
func (p *packWriter) blob(text string) ObjectID { return p.add("blob", []byte(text)) }

func (p *packWriter) tree(entries ...string) ObjectID {
	return p.add("tree", []byte(strings.Join(entries, "")))
}

func (p *packWriter) commit(tree ObjectID, parents ...ObjectID) ObjectID {
	text := "tree " + tree.String() + "\n"
	for _, parent := range parents {
		text += "parent " + parent.String() + "\n"
	}
	return p.add("commit", []byte(text+"author A <a@b> 1700000000 +0000\ncommitter A <a@b> 1700000000 +0000\n\nwork\n"))
}

// entry returns an entry of a tree.
func entry(mode, name string, id ObjectID) string { return mode + " " + name + "\x00" + string(id[:]) }

// pack returns the whole pack.
func (p *packWriter) pack() []byte {
	var b bytes.Buffer
	b.WriteString("PACK")
	binary.Write(&b, binary.BigEndian, []uint32{2, p.count})
	b.Write(p.body.Bytes())
	sum := sha1.Sum(b.Bytes())
	return append(b.Bytes(), sum[:]...)
}

// harvested returns the pack as the harvest prints it.
func (p *packWriter) harvested(tip ObjectID) []byte {
	return append([]byte("symphony-pack "+tip.String()+" "+tip.String()+" all\n"), p.pack()...)
}

// bundle returns the pack as a file that git fetches from, for naive hosts.
func (p *packWriter) bundle(tip, base ObjectID) []byte {
	return append([]byte("# v2 git bundle\n-"+base.String()+"\n"+tip.String()+" refs/heads/x\n\n"), p.pack()...)
}

// fetchBundle takes a bundle as a naive host does, with git's checks turned on.
func fetchBundle(t testing.TB, m *machine, base, bundle string) error {
	t.Helper()
	repository := m.path("naive")
	if !exists(repository) {
		git(t, m.dir, "clone", "-q", "--bare", base, repository)
	}
	out, err := plain(t, repository, "", "-c", "fetch.fsckObjects=true", "-c", "transfer.fsckObjects=true", "fetch", "-q", bundle, "+refs/heads/x:refs/heads/x")
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// deltaBomb returns a pack whose delta makes an object of size bytes out of 64 KiB.
func deltaBomb(base ObjectID, parentTree []string, size int) (*packWriter, ObjectID) {
	p := &packWriter{}
	const piece = 64 << 10
	source := p.blob(strings.Repeat("\x00", piece))
	var delta []byte
	delta = binary.AppendUvarint(delta, piece)
	delta = binary.AppendUvarint(delta, uint64(size))
	for range size / piece {
		delta = append(delta, 0x80) // copy 64 KiB from offset 0
	}
	p.object(referenceDelta, len(delta), source[:], delta)
	result := objectID("blob", make([]byte, size))
	tip := p.commit(p.tree(append(parentTree, entry("100644", "zero", result))...), base)
	return p, tip
}

// treeBomb returns a pack with width^depth paths.
func treeBomb(base ObjectID, width, depth int) (*packWriter, ObjectID) {
	p := &packWriter{}
	id, mode := p.blob("x"), "100644"
	for range depth {
		var entries []string
		for i := range width {
			entries = append(entries, entry(mode, fmt.Sprintf("%02d", i), id))
		}
		id, mode = p.tree(entries...), "40000"
	}
	return p, p.commit(id, base)
}
