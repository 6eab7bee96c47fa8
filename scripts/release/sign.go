package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"helm.sh/helm/v4/pkg/provenance"
)

// A key identifies the key to sign with.
type key struct{ ring, name, passphrase string }

// A signer signs with an unlocked key.
type signer struct{ *provenance.Signatory }

// open unlocks the key, if there is one.
func (k key) open() (*signer, error) {
	switch {
	case k == key{}:
		return nil, nil
	case k.ring == "" || k.name == "":
		return nil, errors.New("-keyring and -key: both are needed to sign")
	}
	s, err := provenance.NewFromKeyring(k.ring, k.name)
	if err != nil {
		return nil, fmt.Errorf("-keyring %s: %w", k.ring, err)
	}
	if s.Entity == nil || s.Entity.PrivateKey == nil {
		return nil, fmt.Errorf("-keyring %s: has no secret key named %q", k.ring, k.name)
	}
	if err := s.DecryptKey(func(string) ([]byte, error) { return k.unlock() }); err != nil {
		return nil, fmt.Errorf("-passphrase-file: %w", err)
	}
	return &signer{s}, nil
}

// unlock returns the passphrase. Helm's library calls it only if the key has one.
func (k key) unlock() ([]byte, error) {
	if k.passphrase == "" {
		return nil, fmt.Errorf("must be set, since the key %q is locked", k.name)
	}
	f, err := os.Open(k.passphrase)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	line, err := bufio.NewReader(f).ReadString('\n')
	if err == io.EOF {
		err = nil
	}
	return []byte(strings.TrimRight(line, "\r\n")), err
}

// provenance returns the signature of an archive, in the form that Helm verifies.
func (s *signer) provenance(name string, archive, metadata []byte) ([]byte, error) {
	text, err := s.ClearSign(archive, name, bytes.Clone(metadata))
	return []byte(text), err
}

func (s *signer) detached(w io.Writer, data []byte) error {
	return openpgp.ArmoredDetachSign(w, s.Entity, bytes.NewReader(data), nil)
}
