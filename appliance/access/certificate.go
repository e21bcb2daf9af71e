package access

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
	// certificateLife is what browsers accept at most (398 days), less a day
	// for clocks that are wrong.
	certificateLife = 397 * 24 * time.Hour
	certificateLeft = 30 * 24 * time.Hour // less than this, and a new one is made
)

// SelfMade returns the certificate that the box made for itself in the state
// directory, and makes one when there is none, or when it does not serve the
// names, or ends soon. made says that its fingerprint is new.
func SelfMade(dir string, names []string, now time.Time) (c tls.Certificate, made bool, err error) {
	c, err = tls.LoadX509KeyPair(filepath.Join(dir, certificateFile), filepath.Join(dir, keyFile))
	if err == nil && serves(c.Leaf, names, now) {
		return c, false, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, false, fmt.Errorf("certificate: %w; remove %s and %s to have a new one made", err,
			filepath.Join(dir, certificateFile), filepath.Join(dir, keyFile))
	}
	cert, key, err := makeCertificate(names, now)
	if err != nil {
		return c, false, fmt.Errorf("certificate: %w", err)
	}
	if err := errors.Join(Replace(filepath.Join(dir, keyFile), key), Replace(filepath.Join(dir, certificateFile), cert)); err != nil {
		return c, false, fmt.Errorf("certificate: %w", err)
	}
	c, err = tls.X509KeyPair(cert, key)
	return c, true, err
}

// serves reports whether the certificate is good for all names and for some
// time yet.
func serves(c *x509.Certificate, names []string, now time.Time) bool {
	for _, name := range names {
		if c.VerifyHostname(name) != nil {
			return false
		}
	}
	return now.After(c.NotBefore) && now.Add(certificateLeft).Before(c.NotAfter)
}

func makeCertificate(names []string, now time.Time) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
	}
	t := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "farlink"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &private.PublicKey, private)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), nil
}

// uploadedFile holds certificate and key, so that they change together.
const uploadedFile = "own.pem"

// Unfit is the error of an uploaded certificate or key that does not do.
type Unfit struct{ Part, Want string } // Part: certificate or key

func (u Unfit) Error() string { return u.Part + ": want " + u.Want }

// Uploaded returns the certificate that was uploaded; fs.ErrNotExist when
// none was.
func Uploaded(dir string) (tls.Certificate, error) {
	file := filepath.Join(dir, uploadedFile)
	return tls.LoadX509KeyPair(file, file)
}

// KeepUploaded checks a certificate and its key, both as PEM, and keeps them
// in the directory dir. The certificate's own issuers may follow it.
func KeepUploaded(dir string, certificate, key []byte, now time.Time) (tls.Certificate, error) {
	c, err := fit(certificate, key, now)
	if err != nil {
		return c, err
	}
	return c, Replace(filepath.Join(dir, uploadedFile), bytes.Join([][]byte{bytes.TrimSpace(certificate), bytes.TrimSpace(key), nil}, []byte("\n")))
}

// fit checks a certificate and its key.
func fit(certificate, key []byte, now time.Time) (c tls.Certificate, err error) {
	if block, _ := pem.Decode(certificate); block == nil || block.Type != "CERTIFICATE" {
		return c, Unfit{"certificate", "PEM that begins with -----BEGIN CERTIFICATE-----"}
	}
	if block, _ := pem.Decode(key); block == nil || !strings.HasSuffix(block.Type, "PRIVATE KEY") {
		return c, Unfit{"key", "PEM that begins with -----BEGIN PRIVATE KEY-----, without a passphrase"}
	}
	if c, err = tls.X509KeyPair(certificate, key); err != nil {
		return c, Unfit{"key", "the key of the certificate: " + strings.TrimPrefix(err.Error(), "tls: ")}
	}
	if r, ok := c.Leaf.PublicKey.(*rsa.PublicKey); ok && r.N.BitLen() < 2048 {
		return c, Unfit{"certificate", fmt.Sprintf("an RSA key of 2048 bits at least, this has %d", r.N.BitLen())}
	}
	if !now.Before(c.Leaf.NotAfter) || now.Before(c.Leaf.NotBefore) {
		return c, Unfit{"certificate", fmt.Sprintf("one that is valid now, this is from %s to %s",
			c.Leaf.NotBefore.UTC().Format(time.DateOnly), c.Leaf.NotAfter.UTC().Format(time.DateOnly))}
	}
	return c, nil
}

// Fingerprint is the SHA-256 of a certificate as browsers show it.
func Fingerprint(c tls.Certificate) string {
	sum := sha256.Sum256(c.Certificate[0])
	return strings.TrimSuffix(strings.ToUpper(fmt.Sprintf("% x", sum)), " ")
}

// OwnNames lists the names and addresses by which this machine may be
// called, besides further ones: what a self-made certificate is for.
func OwnNames(further []string) []string {
	names := append([]string{"localhost", "127.0.0.1", "::1"}, further...)
	if host, err := os.Hostname(); err == nil {
		names = append(names, host)
	}
	return names
}

// TLS is how the API is served: at least TLS 1.2, with what Go thinks good.
func TLS(c tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{c}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
}

// Pinned is how a client speaks to a box whose certificate it knows by its
// fingerprint, with or without spaces and colons: nobody else has to vouch
// for it.
func Pinned(fingerprint string) *tls.Config {
	plain := strings.NewReplacer(" ", "", ":", "").Replace(strings.ToUpper(fingerprint))
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		// The chain is not verified, as there is none; the certificate is.
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			got := Fingerprint(tls.Certificate{Certificate: [][]byte{s.PeerCertificates[0].Raw}})
			if strings.ReplaceAll(got, " ", "") != plain {
				return fmt.Errorf("certificate has fingerprint %s, want %s", got, fingerprint)
			}
			return nil
		},
	}
}
