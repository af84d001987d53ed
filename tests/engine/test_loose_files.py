"""TLS files that other users could read or replace are refused, wherever their paths come from."""

import os

import dask
import pytest

from distkern import InputError
from distkern.engine.dask import loose_files
from distkern.engine.dask.cluster import joined_client
from distkern.engine.dask.loose_files import refuse_loose
from distkern.engine.dask.security import write_certificates

OTHER_USER = 12_345


@pytest.fixture
def key(tmp_path):
    folder = tmp_path / "tls"
    folder.mkdir(mode=0o700)
    (folder / "key.pem").touch(mode=0o600)
    return folder / "key.pem"


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700, 0o100600])
def test_a_key_that_only_its_owner_can_read_is_accepted(key, mode):
    key.chmod(mode)
    refuse_loose(key, secret=True)


@pytest.mark.parametrize("mode", [0o666, 0o660, 0o620, 0o602, 0o622, 0o644, 0o604, 0o640 if os.geteuid() else 0o604])
def test_a_key_that_others_can_read_or_write_is_refused(key, mode):
    key.chmod(mode)
    with pytest.raises(
        InputError, match=rf"other users can (read|write).*key.pem' \(mode {mode:04o}\): run `chmod 600 /"
    ):
        refuse_loose(key, secret=True)


def test_all_may_read_a_certificate_and_only_its_owner_may_write_it(key):
    key.chmod(0o644)
    refuse_loose(key, secret=False)
    for mode in (0o664, 0o646, 0o666):
        key.chmod(mode)
        with pytest.raises(InputError, match=r"other users can write to .*: run `chmod 644 /"):
            refuse_loose(key, secret=False)


def test_the_group_may_read_a_key_of_root_and_of_no_other_user(key, monkeypatch):
    key.chmod(0o440)  # as the files of a secret of Kubernetes are
    monkeypatch.setattr(loose_files, "ROOT_USER", os.geteuid())
    refuse_loose(key, secret=True)
    monkeypatch.setattr(loose_files, "ROOT_USER", OTHER_USER)
    with pytest.raises(InputError, match=r"other users can read the key"):
        refuse_loose(key, secret=True)


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757])
def test_a_folder_in_which_others_can_replace_the_file_is_refused(key, mode):
    key.parent.chmod(mode)
    for secret in (True, False):
        with pytest.raises(
            InputError, match=rf"because they can write to the folder '.*tls' \(mode 0{mode:o}\): run `chm"
        ):
            refuse_loose(key, secret)


def test_a_folder_with_the_sticky_bit_is_accepted(key):
    key.parent.chmod(0o1777)
    refuse_loose(key, secret=True)


def test_files_and_folders_of_other_users_are_refused(key, monkeypatch):
    monkeypatch.setattr(loose_files, "ROOT_USER", OTHER_USER + 1)
    monkeypatch.setattr(os, "geteuid", lambda: OTHER_USER)
    with pytest.raises(
        InputError, match=rf"key.pem' belongs to another user \(number {os.getuid()}\), who can change it"
    ):
        refuse_loose(key, secret=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("which", ["file", "folder"])
def test_a_file_or_folder_that_was_given_to_another_user_is_refused(key, which):
    given = key if which == "file" else key.parent
    os.chown(given, OTHER_USER, -1)
    with pytest.raises(InputError, match=rf"'{given}' belongs to another user \(number {OTHER_USER}\)"):
        refuse_loose(key, secret=True)


def test_a_symbolic_link_is_judged_by_its_file_and_by_all_folders_on_the_way(key, tmp_path):
    middle, first = tmp_path / "middle", tmp_path / "first"
    for folder in (middle, first):
        folder.mkdir(mode=0o700)
    (middle / "link.pem").symlink_to("../tls/key.pem")
    link = first / "key.pem"
    link.symlink_to(middle / "link.pem")
    refuse_loose(link, secret=True)
    for folder in (first, middle, key.parent):
        folder.chmod(0o777)
        with pytest.raises(InputError, match="because they can write to the folder"):
            refuse_loose(link, secret=True)
        folder.chmod(0o700)
    key.chmod(0o666)
    with pytest.raises(InputError, match="other users can write to"):
        refuse_loose(link, secret=True)


def test_what_is_no_file_is_refused(key):
    with pytest.raises(InputError, match="is no file"):
        refuse_loose(key.parent, secret=True)


class TestCertificates:
    """Loose files are refused by whatever uses certificates, before any connection is made."""

    @pytest.fixture
    def made(self, tmp_path):
        pytest.importorskip("cryptography")
        return write_certificates(tmp_path / "made")

    def test_files_as_they_are_made_are_accepted(self, made):
        assert made.security().require_encryption

    @pytest.mark.parametrize("name", ["ca", "cert", "key"])
    def test_each_file_is_examined(self, made, name):
        getattr(made, name).chmod(0o666)
        with pytest.raises(InputError, match=rf"other users can write to '.*{name}.pem'"):
            made.security()

    def test_a_loose_folder_is_refused(self, made):
        made.key.parent.chmod(0o777)
        with pytest.raises(InputError, match="because they can write to the folder"):
            made.security()

    def test_files_that_the_configuration_of_dask_names_are_examined(self, made):
        made.key.chmod(0o644)
        names = {"ca-file": made.ca, "client.cert": made.cert, "client.key": made.key}
        settings = {f"distributed.comm.tls.{name}": str(path) for name, path in names.items()}
        with dask.config.set(settings), pytest.raises(InputError, match="other users can read the key"):
            with joined_client("tls://127.0.0.1:9"):
                pass

    def test_a_key_inside_the_file_of_the_certificate_is_secret(self, made):
        both = made.cert.with_name("both.pem")
        both.touch(mode=0o644)
        both.write_bytes(made.cert.read_bytes() + made.key.read_bytes())
        settings = {"distributed.comm.tls.ca-file": str(made.ca), "distributed.comm.tls.client.cert": str(both)}
        with dask.config.set(settings), pytest.raises(InputError, match="other users can read the key"):
            with joined_client("tls://127.0.0.1:9"):
                pass

    def test_the_command_line_says_so_in_one_line(self, made):
        from click.testing import CliRunner

        from distkern.cli.main import main

        made.key.chmod(0o666)
        words = ["deploy", "local", "--workers", "1", "--tls", "--certificates", str(made.key.parent)]
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 3
        assert done.stderr.startswith(f"Error: other users can write to '{made.key}' (mode 0666): run `chmod 600 ")
        assert done.stderr.count("\n") == 1
