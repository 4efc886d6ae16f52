"""Prepare pictures and videos for a judge: decode, turn upright, resize, encode once."""

from salon_judges.media.picture_cache import PictureCache
from salon_judges.media.policy import Encoding, PicturePolicy, SourceLimits
from salon_judges.media.preparing import PreparedPicture, prepare_bytes, prepare_picture
from salon_judges.media.video_policy import VideoLimits, VideoPolicy
from salon_judges.media.video_sampling import SampledVideo, prepare_video, sample_video

__all__ = [
    "Encoding",
    "PictureCache",
    "PicturePolicy",
    "PreparedPicture",
    "SampledVideo",
    "SourceLimits",
    "VideoLimits",
    "VideoPolicy",
    "prepare_bytes",
    "prepare_picture",
    "prepare_video",
    "sample_video",
]
