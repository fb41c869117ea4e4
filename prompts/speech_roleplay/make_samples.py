"""Make the sound files of the speech demonstration anew, with eSpeak NG (Debian: apt-get install espeak-ng).

    python prompts/speech_roleplay/make_samples.py

It speaks the texts in samples/espeak-ng/ and those instructions of the data sets that name a sound file.
"""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path

import soundfile

HERE = Path(__file__).resolve().parent
ANSWERS = HERE / "samples" / "espeak-ng"
VOICES = {"en": "en-gb", "ru": "ru"}
WORDS_A_MINUTE = 165
COMPRESSION = 0.9
"""Of MP3 at a constant rate, from 0 (best) to 1 (smallest)."""


def write(text: str, language: str, path: Path) -> None:
    """Speak ``text`` into the MP3 file ``path``."""
    command = ["espeak-ng", "-v", VOICES[language], "-s", str(WORDS_A_MINUTE), "--stdout"]
    made = subprocess.run(command, input=text.encode(), capture_output=True, check=True).stdout
    samples, rate = soundfile.read(io.BytesIO(made), dtype="int16")
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, samples, rate, format="MP3", bitrate_mode="CONSTANT", compression_level=COMPRESSION)


def main() -> None:
    """Write every file."""
    for language in VOICES:
        for text in sorted((ANSWERS / language).glob("*.txt")):
            write(text.read_text(encoding="utf-8"), language, text.with_name(f"{text.stem}.mp3"))
        for line in (HERE / f"speech-demo.{language}.jsonl").read_text(encoding="utf-8").splitlines():
            item = json.loads(line)
            if item.get("audio"):
                write(item["instruction"], language, HERE / item["audio"])


if __name__ == "__main__":
    main()
