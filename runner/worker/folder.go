package worker

import (
	"archive/tar"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// packFolder is the folder of the packs in a .git. A pack is named by its content.
const packFolder = "objects/pack/"

// writeFolder writes the folders and files of a folder as a tar. A pack that the other side has is a
// link to it.
func writeFolder(w io.Writer, folder fs.FS, have []string) error {
	out := tar.NewWriter(w)
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if pack, isPack := strings.CutPrefix(name, packFolder); isPack && slices.Contains(have, pack) {
			return out.WriteHeader(&tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: pack})
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is neither a folder nor a file", name)
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(info.Mode().Perm()), Size: info.Size()}
		if info.IsDir() {
			header.Typeflag, header.Size = tar.TypeDir, 0
		}
		if err := out.WriteHeader(header); err != nil || info.IsDir() {
			return err
		}
		file, err := folder.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = io.Copy(out, file)
		return err
	})
	return errors.Join(err, out.Close())
}

// readFolder makes the folders and files of a tar in a folder. A file that exists stays as it is. It
// keeps each pack that comes, and takes the others from the kept ones.
func readFolder(r io.Reader, into *os.Root, kept packs) error {
	in := tar.NewReader(r)
	for {
		header, err := in.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("read the files of the repository: %w: %w", errLost, err)
		case header.Typeflag == tar.TypeDir:
			err = into.MkdirAll(header.Name, fs.FileMode(header.Mode).Perm())
		case header.Typeflag == tar.TypeLink:
			err = kept.copyTo(into, header.Linkname)
		default:
			content, done := io.Reader(in), func(err error) error { return err }
			if strings.HasPrefix(header.Name, packFolder) {
				content, done = kept.keep(path.Base(header.Name), in)
			}
			err = done(writeFile(into, header.Name, content, fs.FileMode(header.Mode).Perm()))
		}
		if err != nil {
			return err
		}
	}
}

// writeFile makes a file with a content, unless it exists.
func writeFile(into *os.Root, name string, content io.Reader, mode fs.FileMode) error {
	file, err := into.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		_, err = io.Copy(io.Discard, content)
		return err
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// unusedPack is the time after which a pack is deleted that no session has needed.
const unusedPack = 7 * 24 * time.Hour

// packs is the folder with the packs of the repositories of sessions on this host, so that each pack
// comes once. No agent can read or write it. Several processes may use it at once.
type packs struct{ *os.Root }

// openPacks opens the folder, and deletes the packs that nobody needs any more.
func openPacks(folder string, now time.Time) (packs, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return packs{}, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return packs{}, err
	}
	entries, _ := fs.ReadDir(root.FS(), ".") // with the ones that were not kept to their end
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && now.Sub(info.ModTime()) > unusedPack {
			_ = root.Remove(entry.Name()) // another process may be faster
		}
	}
	return packs{root}, nil
}

// names returns the names of the files.
func (p packs) names() []string {
	names, _ := fs.Glob(p.FS(), "[^.]*") // without them everything comes again
	return names
}

// copyTo copies a file to a .git, and notes that it is needed.
func (p packs) copyTo(into *os.Root, name string) error {
	file, err := p.Open(name)
	if err == nil {
		now := time.Now()
		_ = p.Chtimes(name, now, now)
		err = errors.Join(writeFile(into, packFolder+name, file, 0o444), file.Close())
	}
	if err != nil {
		return fmt.Errorf("take a pack of an earlier session: %w", err)
	}
	return nil
}

// keep returns a reader that keeps what is read from a content as a file of this name, and a
// function to call with the error of the reading, which it returns. A file that cannot be kept comes
// again.
func (p packs) keep(name string, content io.Reader) (io.Reader, func(error) error) {
	temporary := "." + name + "-" + rand.Text() // a session may copy the same pack twice at once
	file, err := p.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return content, func(err error) error { return err }
	}
	kept := &keptFile{to: file}
	return io.TeeReader(content, kept), func(err error) error {
		unsaved := kept.err
		if err == nil && unsaved == nil {
			unsaved = file.Sync() // a pack that a failure of power has cut would be of no use for ever
		}
		if closed := file.Close(); err == nil && unsaved == nil && closed == nil {
			if p.Rename(temporary, name) == nil {
				return nil
			}
		}
		_ = p.Remove(temporary)
		return err
	}
}

// keptFile writes to a file until that fails, and never fails itself.
type keptFile struct {
	to  io.Writer
	err error
}

func (k *keptFile) Write(text []byte) (int, error) {
	if k.err == nil {
		_, k.err = k.to.Write(text)
	}
	return len(text), nil
}
