"""A hostile host: draws at random from everything that a host can send to harm others, round by round.

The argument is JSON: `device`, `seed`, `rounds`, `own` (its address), `victims` (addresses of honest hosts), and the paths of two
datagram sockets, `ear` and `peer`, over which two such hosts tell each other the probes that they hear, or null for `peer`.

Prints JSON at its end: `sent` by kind of attempt, `refused` (by the kernel), `probes` that were heard, and `overheard`, frames between
honest hosts that came here, of which there must be none.
"""

import json
import os
import random
import select
import socket
import struct
import sys
import time

ROUND = 0.1
# Rounds of one manner of pausing.
MOOD = 20
PROBE = bytes.fromhex("035745495201")
RESERVED = bytes.fromhex("0180c2000001")
BRIDGE = bytes.fromhex("0180c200000e")
BROADCAST = b"\xff" * 6
MAC_CONTROL = b"\x88\x08"
MAGIC = b"WEIRLAB1"
OUTGOING = 4
PROBES_MAX = 64


def address(text):
    return bytes.fromhex(text.replace(":", ""))


class Adversary:
    def __init__(self, options):
        self.random = random.Random(options["seed"])
        self.rounds = options["rounds"]
        self.own = address(options["own"])
        self.victims = [address(text) for text in options["victims"]]
        self.line = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.line.bind((options["device"], 3))
        self.line.setblocking(False)
        self.ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.ear.bind(options["ear"])
        self.ear.setblocking(False)
        self.peer = options["peer"]
        self.probes = []
        self.sent = {}
        self.refused = 0
        self.heard = 0
        self.overheard = []

    def send(self, kind, frame):
        try:
            self.line.send(frame)
            self.sent[kind] = self.sent.get(kind, 0) + 1
        except (BlockingIOError, OSError):
            # No room in the device, or a frame too short or too long for it: it did not leave.
            self.refused += 1

    def listen(self):
        for _ in range(512):
            try:
                frame, (_, _, kind, _, _) = self.line.recvfrom(2048)
            except BlockingIOError:
                break
            if kind == OUTGOING:
                continue
            if b"\x88\xb6WL" in frame[12:20]:
                self.heard += 1
                self.know(frame)
                if self.peer:
                    try:
                        self.ear.sendto(frame, self.peer)
                    except OSError:
                        pass
            elif MAGIC in frame[:64] and frame[:6] in self.victims:
                self.overheard.append(frame[:64].hex())
        while self.peer:
            try:
                self.know(self.ear.recv(2048))
            except BlockingIOError:
                break

    def know(self, probe):
        self.probes = self.probes[-PROBES_MAX:] + [probe]

    def bytes(self, count):
        return self.random.randbytes(count)

    def made_up(self):
        return b"\x02\x00\x05\x00" + self.random.randrange(6000).to_bytes(2, "big")

    def victim(self):
        return self.random.choice(self.victims)

    def payload(self):
        return bytes(self.random.choice([46, 100, 986]))

    def pfc(self, quanta, priorities=0xFF):
        return RESERVED + self.own + MAC_CONTROL + struct.pack("!HH8H", 0x0101, priorities, *[quanta] * 8) + bytes(26)

    # The attempts, by their names in the report.

    def loop_probe(self):
        if self.probes and self.random.random() < 0.9:
            probe = bytearray(self.random.choice(self.probes))
            if self.random.random() < 0.2:
                probe[11] = self.random.randrange(8)
            if self.random.random() < 0.2:
                probe[19] = (probe[19] + 1) % 256
            if self.random.random() < 0.2:
                probe[20:28] = self.bytes(8)
            if self.random.random() < 0.1:
                probe[:6] = BROADCAST
            return bytes(probe)
        return PROBE + b"\x06" + self.bytes(5) + b"\x88\xb6WL" + self.bytes(12) + bytes(32)

    def stolen_address(self):
        to = self.random.choice([self.victim(), self.made_up(), BROADCAST])
        return to + self.victim() + b"\x08\x00" + self.payload()

    def many_addresses(self):
        to = self.random.choice([self.victim(), BROADCAST])
        return to + self.made_up() + b"\x08\x00" + self.payload()

    def pause(self):
        quanta = self.random.choice([0, 200, 9000, 65535])
        if self.random.random() < 0.2:
            return RESERVED + self.own + MAC_CONTROL + struct.pack("!HH", 1, quanta) + bytes(42)
        frame = self.pfc(quanta, self.random.randrange(256))
        return frame[: self.random.choice([15, 18, 30])] if self.random.random() < 0.1 else frame

    def clcm(self):
        subtype = self.random.choice([b"WC", b"WE", b"WG", b"WS", self.bytes(2)])
        return BRIDGE + self.own + b"\x88\xb5" + subtype + self.bytes(44)

    def tagged_mac_control(self):
        tags = self.random.choice([b"\x81\x00\x00\x00", b"\x81\x00\x60\x0a", b"\x88\xa8\x00\x00", b"\x81\x00\x00\x00\x81\x00\x00\x0a"])
        pause = self.pfc(65535)
        return self.random.choice([self.victim(), RESERVED]) + pause[6:12] + tags + pause[12:]

    def nested_tag(self):
        tags = [self.random.choice([b"\x81\x00", b"\x88\xa8"]) + self.random.randrange(65536).to_bytes(2, "big") for _ in range(self.random.choice([2, 3]))]
        return self.victim() + self.own + b"".join(tags) + b"\x08\x00" + self.payload()

    def all_priorities(self):
        tag = b"\x81\x00" + (self.random.randrange(8) << 13).to_bytes(2, "big")
        return self.victim() + self.own + tag + b"\x08\x00" + self.payload()

    def group(self):
        tag = b"\x81\x00" + (self.random.randrange(8) << 13).to_bytes(2, "big")
        to = self.random.choice([BROADCAST, b"\x33\x33" + self.bytes(4), self.made_up()])
        return to + self.own + tag + b"\x08\x00" + self.payload()

    def discovery(self):
        return BRIDGE + self.own + b"\x88\xcc" + self.bytes(60)

    def noise(self):
        frame = self.bytes(self.random.randrange(14, 1514))
        start = self.random.choice([b"", self.victim(), b"\x01\x80\xc2\x00\x00" + self.bytes(1)])
        return start + frame[len(start) :]

    KINDS = [
        loop_probe,
        stolen_address,
        many_addresses,
        clcm,
        tagged_mac_control,
        nested_tag,
        all_priorities,
        group,
        discovery,
        noise,
    ]

    def attack(self, mood):
        if mood == "random" and self.random.random() < 0.25:
            self.send("pause", self.pause())
            return
        if self.random.random() < 0.01:
            # More at once than the shortest burst that is let through.
            for _ in range(200):
                self.send("flood", self.group())
            return
        kind = self.random.choice(self.KINDS)
        self.send(kind.__name__, kind(self))

    def hold(self, mood, now):
        """A pause without end, or one of 180 ms of each 180.3, for as long as that is the mood."""
        if mood == "random":
            self.next_pause = now
            return
        if mood == "pulsed" and now >= self.pulse:
            self.pulse = now + 0.1803
            self.send("pulsed_pause", self.pfc(0))
            time.sleep(0.0003)
            self.next_pause = now
        if now >= self.next_pause:
            self.next_pause = now + 0.01
            self.send("pulsed_pause" if mood == "pulsed" else "endless_pause", self.pfc(65535))

    def run(self):
        self.pulse = self.next_pause = 0
        self.send("own", BROADCAST + self.own + b"\x08\x00" + bytes(46))
        begin = time.monotonic()
        number = 0
        while number < self.rounds:
            now = time.monotonic()
            number = int((now - begin) / ROUND)
            mood = ["random", "endless", "random", "pulsed"][number // MOOD % 4]
            self.listen()
            self.hold(mood, now)
            for _ in range(self.random.randrange(4)):
                self.attack(mood)
            select.select([self.line], [], [], 0.002)
            time.sleep(0.001)
        # Holds nobody any longer.
        self.send("end", self.pfc(0))
        self.listen()
        report = {"sent": self.sent, "refused": self.refused, "probes": self.heard, "overheard": self.overheard[:4]}
        print(json.dumps(report))


options = json.loads(sys.argv[1])
Adversary(options).run()
os.unlink(options["ear"])
